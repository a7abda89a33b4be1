package tree

import (
	"errors"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/intern"
)

// Structs decodes JSON into values of one type, one after the other, and remembers
// what repeats. It belongs to one goroutine at a time.
//
// json/v2 says what is right: Structs does what it does with the same options, in a
// third of the time, for objects as servers write them. Whatever is out of the ordinary
// (a name that stands twice, or has escapes, a value of the wrong type, an error of any
// kind) makes it leave the whole object to json/v2, whose result or error then counts.
type Structs struct {
	plan  *plan
	index index
	text  intern.Table
	known known
}

// known is what has been decoded of some types before.
type known struct {
	share    bool // the bytes of equal managedFields may be one in memory
	fields   intern.Cache[metav1.FieldsV1]
	timeText string
	time     time.Time
}

// NewStructs returns a decoder for a struct or a pointer to one. With share, equal
// managedFields of different objects are one in memory: none must be changed. Strings
// are shared in any case.
func NewStructs(typ reflect.Type, share bool) *Structs {
	return &Structs{plan: planFor(typ), known: known{share: share}}
}

// errElsewhere is for what json/v2 decodes, or reports.
var errElsewhere = errors.New("left to json")

// Decode decodes object into what into points to, which has the decoder's type. An
// error is one of json/v2.
func (s *Structs) Decode(object []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	if s.decode(object, v) {
		return nil
	}
	v.SetZero()
	return json.Unmarshal(object, into, lenient)
}

// decode reports whether it has done it.
func (s *Structs) decode(object []byte, v reflect.Value) bool {
	if s.index.build(object) != nil {
		return false
	}
	defer s.index.shrink()
	p := parser{b: object, nodes: s.index.nodes, text: &s.text, known: &s.known}
	end, err := s.plan.decode(&p, p.space(0), v)
	return err == nil && p.space(end) == len(object)
}

// isString reports whether text is a JSON string.
func isString(text []byte) bool {
	return jsontext.Value(text).IsValid(lenient)
}
