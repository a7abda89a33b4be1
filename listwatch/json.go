package listwatch

import (
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/relist-go/relist/listwatch/internal/intern"
	"github.com/relist-go/relist/listwatch/internal/tree"
)

// lenient is how API servers' JSON is read: names are case-sensitive, a name
// that stands twice keeps its last value, and bytes that are not UTF-8 are
// replaced. kube-apiserver reads what it is sent by the same rules.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

const jsonMediaType = "application/json"

// jsonEncoding is [JSON]. Its parts are in the files whose names begin with json.
type jsonEncoding struct {
	share bool // see sharing
}

func (jsonEncoding) MediaType() string       { return jsonMediaType }
func (jsonEncoding) StreamMediaType() string { return jsonMediaType }

// sharing implements sharer.
func (jsonEncoding) sharing() Encoding { return jsonEncoding{share: true} }

func (e jsonEncoding) Unmarshaler(typ reflect.Type) (func(object []byte, into any) error, error) {
	if isUnstructured(typ) {
		return newUnstructured(typ, e.share), nil
	}
	return newStructs(typ, e.share), nil
}

// newStructs returns a function that decodes the JSON of an object into a struct. With
// share, equal parts of different objects are one in memory.
func newStructs(typ reflect.Type, share bool) func(object []byte, into any) error {
	decoders := intern.Pool[tree.Structs]{New: func() *tree.Structs { return tree.NewStructs(typ, share) }}
	return func(object []byte, into any) error {
		decoder := decoders.Get()
		err := decoder.Decode(object, into)
		decoders.Put(decoder)
		return withoutValue(err)
	}
}
