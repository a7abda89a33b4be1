// Package protobuf implements protobuf, which API servers offer for built-in resources.
// It takes less time and fewer bytes than JSON; docs/transports.md has figures.
//
// Objects and lists have an envelope around them, which names their kind. Items of a list
// have no envelope. The methods that take an object accept it with or without an
// envelope.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
package protobuf

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/intern"
	"github.com/relist-go/relist/listwatch/internal/prototree"
	"github.com/relist-go/relist/listwatch/internal/protowire"
	"github.com/relist-go/relist/transport/frames"
)

const mediaType = "application/vnd.kubernetes.protobuf"

// Format is protobuf. The type of the objects must have its own method Unmarshal([]byte)
// error. The method reads the message that the type's .proto defines, without the
// envelope, and must not keep the bytes. The types of k8s.io/api and
// *metav1.PartialObjectMetadata have such a method.
type Format struct{}

var _ format.Format = Format{}

// MediaType implements [format.Format].
func (Format) MediaType() string { return mediaType }

// StreamMediaType implements [frames.Format].
func (Format) StreamMediaType() string { return mediaType }

// Text implements [frames.Format].
func (Format) Text() bool { return false }

// NewFramer implements [frames.Format].
func (Format) NewFramer() frames.Framer { return new(framer) }

// Valid implements [format.Format]. It returns true, because a length says where an
// object ends, and its content cannot change that.
func (Format) Valid([]byte) bool { return true }

// Unmarshaler implements [format.Format]. Drop finds members by the tags of the type's
// fields (protobuf:"bytes,1,..."), which generated types have.
func (Format) Unmarshaler(typ reflect.Type, opts format.Options) (func(object []byte, into any) error, error) {
	if err := decodes(typ); err != nil {
		return nil, err
	}
	unmarshal := newMessages(typ, opts.ShareParts)
	if len(opts.Drop) == 0 {
		return unmarshal, nil
	}
	drop, err := newDrop(typ, opts.Drop)
	if err != nil {
		return nil, err
	}
	return format.Without(drop.object, unmarshal), nil
}

// newMessages returns a function that decodes the message of an object. The function
// copies the bytes that it keeps. If share is true, different objects share equal parts
// in memory.
func newMessages(typ reflect.Type, share bool) func(object []byte, into any) error {
	byValue := typ.Kind() == reflect.Struct
	if !byValue {
		typ = typ.Elem()
	}
	decoders := intern.Pool[prototree.Decoder]{New: func() *prototree.Decoder { return prototree.New(typ, share) }}
	decode := func(object []byte, into prototree.Unmarshaler) error {
		e, err := openEnvelope(object)
		if err != nil {
			return err
		}
		decoder := decoders.Get()
		err = decoder.Decode(e.raw, into)
		decoders.Put(decoder)
		if err != nil {
			return generated(err)
		}
		// The envelope has the kind, which JSON has in the object. It is set for metadata only,
		// because package listwatch clears the kind of other types.
		if metadata, ok := into.(*metav1.PartialObjectMetadata); ok {
			metadata.SetGroupVersionKind(schema.FromAPIVersionAndKind(string(e.apiVersion), string(e.kind)))
		}
		return nil
	}
	if byValue {
		return func(object []byte, into any) error { return decode(object, into.(prototree.Unmarshaler)) }
	}
	return func(object []byte, into any) error {
		obj := reflect.New(typ)
		if err := decode(object, obj.Interface().(prototree.Unmarshaler)); err != nil {
			return err
		}
		reflect.ValueOf(into).Elem().Set(obj)
		return nil
	}
}

// generated replaces the io.ErrUnexpectedEOF that generated code returns for a message
// that ends too early. That error would say that the connection was cut.
func generated(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return protowire.ErrTruncated
	}
	return err
}

// probe is an object with a name, and with a field that no API type has.
const (
	probe     = "\x0a\x07" + "\x0a\x05" + probeName + "\xfa\x07\x01x"
	probeName = "probe"
)

// decodes returns an error if objects of the type cannot be decoded from protobuf. A
// method Unmarshal does not prove that they can, because it may come from an embedded
// field. The Unmarshal of an embedded metav1.ObjectMeta would take the whole object for
// its metadata. The Unmarshal of another embedded type would leave the fields beside it
// empty.
func decodes(typ reflect.Type) (err error) {
	pointer := typ
	if typ.Kind() == reflect.Struct {
		pointer = reflect.PointerTo(typ)
	}
	obj, ok := reflect.New(pointer.Elem()).Interface().(prototree.Unmarshaler)
	if !ok {
		return fmt.Errorf("%v has no method Unmarshal([]byte) error, which generated API types have", pointer)
	}
	if pointer.Elem().Kind() == reflect.Struct {
		if err := ownUnmarshal(pointer.Elem()); err != nil {
			return err
		}
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v does not decode protobuf: Unmarshal panicked: %v", pointer, p)
		}
	}()
	named, ok := obj.(interface{ GetName() string })
	if err := obj.Unmarshal([]byte(probe)); err != nil {
		return fmt.Errorf("%v does not decode protobuf: %w", pointer, err)
	}
	if !ok || named.GetName() != probeName {
		return errors.New(pointer.String() + " does not decode protobuf: its Unmarshal finds no metadata.name where Kubernetes has it")
	}
	return nil
}

var unmarshaler = reflect.TypeFor[prototree.Unmarshaler]()

// ownUnmarshal returns an error if the method Unmarshal of typ may come from an embedded
// field and would leave other fields empty. Reflection does not tell where a method comes
// from. But if two embedded fields have an Unmarshal, Go promotes neither, so typ must
// have its own. And if every field has a protobuf tag, typ was made for protobuf.
func ownUnmarshal(typ reflect.Type) error {
	var embedded, untagged []string
	for i := range typ.NumField() {
		field := typ.Field(i)
		_, tagged := field.Tag.Lookup("protobuf")
		switch {
		case field.Anonymous && (field.Type.Implements(unmarshaler) || reflect.PointerTo(field.Type).Implements(unmarshaler)):
			embedded = append(embedded, field.Name)
		case field.IsExported() && !tagged && field.Tag.Get("json") != "-":
			untagged = append(untagged, field.Name)
		}
	}
	if len(embedded) != 1 || len(untagged) == 0 {
		return nil
	}
	return fmt.Errorf("*%v has no method Unmarshal of its own, as far as its fields tell: that of the embedded %s would leave %s empty (if it has one, give every field a protobuf tag)",
		typ, embedded[0], strings.Join(untagged, ", "))
}
