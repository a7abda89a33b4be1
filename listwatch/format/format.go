// Package format defines the interface [Format] between package listwatch and the formats of
// objects, lists and events on the wire. JSON and protobuf have a package each beside
// this one. A program can implement its own Format, and package listwatch treats it as it
// treats those two.
package format

import (
	"errors"
	"io"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport/frames"
)

// Format reads objects, lists and events from the wire. listwatch.Options.Encoding names the
// Format to ask for; the Content-Type of a response names the Format to read it with.
//
// A Format has no state, and several resources use it at the same time. It must expect any
// bytes: it returns an error for what it cannot read, and does not panic. The caller reuses
// the bytes that it passes to a method after the method has returned, and the Format may
// reuse the bytes that it passes to a callback after the callback has returned. Both copy
// what they keep.
type Format interface {
	// The frames of a watch: see [frames.Format].
	frames.Format

	// MediaType returns the media type of objects and lists, in lower case and without
	// parameters. It is also what Accept asks for, of a watch, too; but the Content-Type of
	// the answer to a watch must be StreamMediaType.
	MediaType() string

	// Unmarshaler returns a function that decodes one object into *into. The type of *into is
	// typ, which is a struct or a pointer to a struct; the function allocates the struct for a
	// pointer, and each struct by itself. Unmarshaler returns an error if this format cannot
	// decode objects into typ, or cannot do what opts asks for.
	Unmarshaler(typ reflect.Type, opts Options) (unmarshal func(object []byte, into any) error, err error)

	// ReadList reads a list and hands over each of its parts as it arrives. If the list ends
	// early, ReadList returns io.ErrUnexpectedEOF. If the list is malformed, the error wraps
	// [ErrMalformed]. Errors of body and list are returned unchanged.
	//
	// ReadList sets the Kind of list before it calls BeginItems, if it has read it by then. A
	// Kind such as NoteList says that the items are Notes: if an item, or the object of a later
	// event, names another kind, that is an error of this object, unless all of them do. If the
	// Kind is List, or comes after the items, the first object that names a kind decides. A list
	// for which BeginItems is not called needs a Kind that ends with List. Kind and APIVersion are
	// also given to unstructured objects that name none.
	ReadList(body io.Reader, list *List) error

	// SplitEvent splits an event into the word for its type, such as ADDED, and its object. If
	// careful is false, it may assume that the event is written as servers write events: in
	// JSON, that the object is the last member. If the object then cannot be decoded and Valid
	// says that it is not a value, SplitEvent is called again with careful set to true, and
	// must find the object without assumptions. A Format that assumes nothing ignores careful.
	//
	// If SplitEvent returns an error, it also returns the parts as far as it could read them.
	// Package listwatch needs them for an event that was too large, because it has only the
	// event's first bytes.
	SplitEvent(event []byte, careful bool) (word string, object []byte, err error)

	// Valid reports whether an object from ReadList or SplitEvent is one well-formed value. It
	// is called for an object that could not be decoded. If the object is not even a value, the
	// list or the event around it is malformed, too. An object that is only nested too deeply
	// for a decoder is a value.
	Valid(object []byte) bool

	// Kind returns the kind that an object names, or nil if it names none. If item is true, the
	// object is an item of a list. Such an object often names no kind, so Kind need not search
	// all of it.
	Kind(object []byte, item bool) []byte

	// Identify reads what identifies one version of an object, without decoding the object.
	// Package listwatch thereby avoids decoding an object that the program has in the same
	// version. For errors it also calls Identify with objects of the wrong shape, and with
	// objects that are cut off anywhere. Identify leaves out each part that it cannot read
	// completely.
	Identify(object []byte) Identity

	// Bookmark reads the two things that a BOOKMARK says: its resourceVersion, and
	// whether it ends the initial events.
	Bookmark(object []byte) (resourceVersion string, initialEventsEnd bool, err error)

	// Status reads a Status as far as it can; ok is false if nothing in it can be read. It is
	// called with the object of an ERROR event. It is also called with the body of an answer
	// that refuses a request, whatever its Content-Type: such a body may be JSON or a proxy's
	// HTML, for which Status returns false; it is then read as JSON. The Status of a refused
	// request must have the kind Status.
	Status(object []byte) (status metav1.Status, ok bool)
}

// Options tell a [Format] how to decode objects.
type Options struct {
	// Drop holds the paths of members that are left out before an object is decoded. A path
	// consists of the members' names in JSON, from the outside in. If a path leads through an
	// array, it applies to every element. A path to a member that does not exist drops nothing.
	// No path drops a member that identifies the object: its kind, apiVersion, name, namespace,
	// UID and resourceVersion. A Format that cannot drop members returns an error if there are
	// paths.
	Drop [][]string

	// ShareParts allows different objects to share equal parts in memory. Strings, and the
	// values under metadata.managedFields, may be shared in any case, because nobody writes to
	// them.
	ShareParts bool
}

// Chooser is implemented by a Format that chooses another Format for each type.
type Chooser interface {
	// Choose returns the Format to ask for if objects are decoded into typ.
	Choose(typ reflect.Type) Format
}

// SecondChooser is implemented by a Format whose objects plain JSON could not be decoded into, or
// not as well.
type SecondChooser interface {
	// SecondChoice returns the Format to ask for if the server does not have the first one.
	SecondChoice() Format
}

// Identity is what identifies one version of one object. Each field is a part of the
// object's bytes, and is nil if the member is missing or not a string.
type Identity struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// Key returns namespace/name, or name if there is no namespace. It returns "" if there is no
// name.
func (id Identity) Key() string {
	if len(id.Namespace) == 0 || len(id.Name) == 0 {
		return string(id.Name)
	}
	return string(id.Namespace) + "/" + string(id.Name)
}

// Meta returns a copy that does not depend on the object's bytes.
func (id Identity) Meta() object.Meta {
	var meta object.Meta
	meta.Key, meta.ResourceVersion = id.Key(), string(id.ResourceVersion)
	meta.UID = types.UID(id.UID)
	return meta
}

// List receives a list from [Format.ReadList]. ReadList fills the two embedded structs when
// their bytes arrive: before the items in lists of built-in types, and after them in other
// lists.
type List struct {
	metav1.TypeMeta
	metav1.ListMeta

	begin func() error
	item  func(object []byte) error
	items bool
}

// NewList returns a List that calls begin before the first item, and item for each item. If
// the list has a member items that is empty, it calls only begin.
func NewList(begin func() error, item func(object []byte) error) *List {
	return &List{begin: begin, item: item}
}

// BeginItems is called by ReadList before the first item. If the items are empty, ReadList
// calls it, too.
func (l *List) BeginItems() error {
	l.items = true
	return l.begin()
}

// Item hands over an item. It returns nil for an item that cannot be decoded, so that the
// list continues. If it returns an error, ReadList ends with that error.
func (l *List) Item(object []byte) error { return l.item(object) }

// HasItems reports whether BeginItems was called.
func (l *List) HasItems() bool { return l.items }

// MaxObjectBytes bounds the memory that one object can take while it is read. etcd accepts
// 1.5 MiB by default, so no server stores objects near this bound.
const MaxObjectBytes = 64 << 20

// ErrMalformed is in the chain of every error about bytes that cannot be the answer of a
// working API server.
var ErrMalformed = errors.New("malformed answer")

// ErrObjectTooLarge is the error for an object that is longer than [MaxObjectBytes].
var ErrObjectTooLarge = errors.New("object is larger than 64 MiB")
