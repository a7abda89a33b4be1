package prototree

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/intern"
)

// Unmarshaler is the method that every type with generated protobuf code has.
type Unmarshaler interface {
	Unmarshal(message []byte) error
}

// Decoder decodes messages into values of one type, one after the other. Only one goroutine
// at a time may use it.
//
// If a message is unusual, the Decoder calls the type's own Unmarshal for the whole object,
// and uses its result or its error. A message is unusual if it has a group, if a field does
// not have the wire type of its Go type, if the message ends inside a field, or if anything
// else is wrong.
type Decoder struct {
	pointer reflect.Type // to the type
	plan    *plan
	parser  parser
}

// New returns a Decoder for a struct type whose pointer has a method Unmarshal. If share is
// true, different objects share equal parts in memory, so nobody may change these parts.
// The object itself and its metadata are never shared. Strings, and the fieldsV1 of
// managedFields, are always shared, even if share is false.
func New(typ reflect.Type, share bool) *Decoder {
	return &Decoder{pointer: reflect.PointerTo(typ), plan: planFor(typ, share), parser: parser{share: share}}
}

// Decode decodes message into the value that into points to. The value must be a zero value
// of the Decoder's type; for a value of another type, Decode calls its Unmarshal. Decode
// keeps no reference to message. If Decode returns an error, the error comes from Unmarshal.
func (d *Decoder) Decode(message []byte, into Unmarshaler) error {
	v := reflect.ValueOf(into)
	if v.Type() != d.pointer || v.IsNil() {
		return into.Unmarshal(message)
	}
	d.parser.sharing, d.parser.depth = d.parser.share, 0
	if d.plan.whole != nil && d.plan.whole(&d.parser, value{bytes: message}, v.UnsafePointer()) {
		return nil
	}
	v.Elem().SetZero()
	return into.Unmarshal(message)
}

// NewPart returns a Decoder for [Decoder.Part]. typ is a struct without a name that has some fields
// of a generated struct, with their tags; structs in it may be such parts, too. NewPart returns
// false if a field cannot be decoded.
func NewPart(typ reflect.Type, share bool) (*Decoder, bool) {
	ps := planners[share]
	ps.mu.Lock()
	defer ps.mu.Unlock()
	plan, ok := ps.of(typ)
	return &Decoder{plan: plan, parser: parser{share: share}}, ok
}

// Part decodes some fields of message into the struct that into points to, and skips the others. It
// returns false if the message is unusual.
func (d *Decoder) Part(message []byte, into any) bool {
	d.parser.sharing, d.parser.depth = d.parser.share, 0
	return d.plan.whole(&d.parser, value{bytes: message}, reflect.ValueOf(into).UnsafePointer())
}

// parser holds the state of a Decoder, both what it remembers and where it is in a message.
type parser struct {
	text    intern.Table
	entries []mapEntry
	last    []string // by place

	share   bool // from New: different objects share equal parts
	sharing bool // share is true, and the parser is at a place where parts are shared
	caching bool // the current part has a value whose methods may write to it, see mayCache
	parts   intern.Cache[reflect.Value]
	depth   int // how many parts that are being decoded contain the current place

	quantities intern.Cache[*resource.Quantity]
	fields     intern.Cache[*metav1.FieldsV1]
}
