package prototree

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/intern"
)

// Unmarshaler is what a type that was generated for protobuf has.
type Unmarshaler interface {
	Unmarshal(message []byte) error
}

// Decoder decodes messages into values of one type, one after the other. It belongs to
// one goroutine at a time.
//
// Whatever is out of the ordinary (a group, a field of another wire type than the type
// says, a message that ends inside a field, an error of any kind) makes it leave the
// whole object to the type's own Unmarshal, whose result or error then counts.
type Decoder struct {
	pointer reflect.Type // to the type
	plan    *plan
	parser  parser
}

// New returns a decoder for a struct, a pointer to which has a method Unmarshal. With
// share, equal parts of different objects are one in memory: none must be changed. The
// object itself and its metadata are always its own, except for managedFields, which are
// shared in any case, as strings are.
func New(typ reflect.Type, share bool) *Decoder {
	return &Decoder{pointer: reflect.PointerTo(typ), plan: planFor(typ), parser: parser{share: share}}
}

// Decode decodes message into what into points to: a zero value of the decoder's type.
// Nothing of it is part of message. An error is one of Unmarshal. A pointer to another type
// is left to its own Unmarshal.
func (d *Decoder) Decode(message []byte, into Unmarshaler) error {
	v := reflect.ValueOf(into)
	if v.Type() != d.pointer || v.IsNil() {
		return into.Unmarshal(message)
	}
	d.parser.sharing, d.parser.managed, d.parser.depth = d.parser.share, false, 0
	if d.plan.whole != nil && d.plan.whole(&d.parser, value{bytes: message}, v.UnsafePointer()) {
		return nil
	}
	v.Elem().SetZero()
	return into.Unmarshal(message)
}

// parser is what decoding takes beside the message.
type parser struct {
	text    intern.Table
	entries []mapEntry

	share   bool // parts of different objects
	sharing bool // share, and where the parser is it does
	caching bool // in the part at hand there is something whose methods may write to it
	parts   intern.Cache[reflect.Value]
	depth   int  // of parts that are looked for
	managed bool // the parser is inside of managedFields

	fields    intern.Cache[*metav1.FieldsV1]
	entriesOf intern.Cache[[]metav1.ManagedFieldsEntry]
}
