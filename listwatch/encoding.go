package listwatch

import (
	"io"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/internal/wire"
	"github.com/relist-go/relist/transport"
)

// Encoding is how objects, lists and events stand on the wire. What a [Resource] asks
// for is [Options.Encoding]; what it gets, each response says by its Content-Type.
//
// An Encoding has no state and serves every Resource at once. Bytes that it is given
// may be anything: it returns an error for what it cannot read, and does not panic.
// Bytes that it is given or hands over are used again once a method or a callback
// has returned: what is to last is copied.
type Encoding interface {
	// MediaType is that of objects and lists, and StreamMediaType that of watches.
	MediaType() string
	StreamMediaType() string

	// Unmarshaler returns the function that decodes one object into *into, a typ:
	// a pointer to a struct, which it allocates by itself, or a struct. It returns an
	// error if objects in this encoding cannot be decoded into a typ.
	Unmarshaler(typ reflect.Type) (unmarshal func(object []byte, into any) error, err error)

	// ReadList reads a list and hands over each of its parts as it arrives. The error
	// of a list that ends early is io.ErrUnexpectedEOF, and malformed ones satisfy
	// [IsMalformed]; those of body and list are returned as they are.
	ReadList(body io.Reader, list *ListSink) error

	// SplitEvent takes an event apart. It may guess from how servers write events,
	// unless careful is true: it is called again so if the object of a guess turns out
	// to be no object.
	SplitEvent(frame transport.Frame, careful bool) (word string, object []byte, err error)

	// SplitHead does it for the first bytes of a frame, with as much of the object as
	// is there.
	SplitHead(head []byte) (typ Type, object []byte, ok bool)

	// Kind returns the kind that an object names, nil if it names none. Items of a list
	// often do not, and it need not look far into one.
	Kind(object []byte, item bool) []byte

	// Meta reads what it can of the metadata of an object that may be of the wrong
	// shape or end anywhere.
	Meta(object []byte) Meta

	// Bookmark reads the two things that a BOOKMARK says: its resourceVersion, and
	// whether it ends the initial events.
	Bookmark(object []byte) (resourceVersion string, initialEventsEnd bool, err error)

	// Status reads a Status as far as it can; ok is false if nothing in it can be read.
	Status(object []byte) (status metav1.Status, ok bool)
}

// ListSink receives a list from [Encoding.ReadList], which fills the two embedded structs
// as they come: before the items in lists of API types, after them in others.
type ListSink struct {
	metav1.TypeMeta
	metav1.ListMeta

	begin func() error
	item  func(object []byte) error
	items bool
}

// BeginItems says that items, if any, come next.
func (l *ListSink) BeginItems() error {
	l.items = true
	return l.begin()
}

// Item hands over an item. The list goes on with an item that cannot be decoded; an
// error ends it.
func (l *ListSink) Item(object []byte) error { return l.item(object) }

// What a program does not name here is not in its binary: the code that was generated
// for protobuf, above all.
var (
	// JSON is the encoding that every API server has, for every resource and every type.
	JSON Encoding = jsonEncoding{}

	// Protobuf is the encoding of the resources that are built into the API server. It
	// takes less time and fewer bytes than JSON; docs/transports.md has figures. The type
	// of the objects must have a method Unmarshal([]byte) error of its own, which reads
	// one object as its .proto has it, without the envelope, and keeps none of the bytes:
	// those of k8s.io/api and *metav1.PartialObjectMetadata have.
	Protobuf Encoding = protobufEncoding{}

	// Auto is Protobuf for types that can be decoded from it, and JSON for others.
	Auto Encoding = autoEncoding{}
)

// autoEncoding is [Auto]. It is nothing but a choice.
type autoEncoding struct{ protobufEncoding }

// chooser is an Encoding that stands for others.
type chooser interface {
	choose(typ reflect.Type) Encoding
}

func (autoEncoding) choose(typ reflect.Type) Encoding {
	if readsProtobuf(typ) == nil {
		return Protobuf
	}
	return JSON
}

// choose returns the encodings to ask for, in order of preference.
func choose(wanted Encoding, typ reflect.Type) []Encoding {
	if c, ok := wanted.(chooser); ok {
		wanted = c.choose(typ)
	}
	if wanted == nil || wanted == JSON {
		return []Encoding{JSON}
	}
	return []Encoding{wanted, JSON}
}

// sharer is implemented by an Encoding that can let objects share memory where they
// are equal. It is used where nothing changes an object once it is decoded, that is
// without a transform.
type sharer interface {
	// sharing returns the same encoding, which shares.
	sharing() Encoding
}

// validator is implemented by an Encoding that hands over items without having checked
// that they are well-formed.
type validator interface {
	// Valid reports whether object is one well-formed value.
	Valid(object []byte) bool
}

// encoded is an Encoding, prepared for one type of objects.
type encoded struct {
	Encoding

	unmarshal func(object []byte, into any) error
	identify  func(object []byte) wire.Identity // nil if the Encoding is no identifier
}
