package listwatch

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch/internal/intern"
	"github.com/relist-go/relist/listwatch/internal/prototree"
	"github.com/relist-go/relist/listwatch/internal/protowire"
)

const protobufMediaType = "application/vnd.kubernetes.protobuf"

// protobufEncoding is [Protobuf]. Its parts are in the files whose names begin with
// protobuf.
//
// An object or a list stands in an envelope, which names its kind; an item of a list
// stands by itself. Both are given to the methods that take an object.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
type protobufEncoding struct {
	share bool // see sharing
}

func (protobufEncoding) MediaType() string       { return protobufMediaType }
func (protobufEncoding) StreamMediaType() string { return protobufMediaType }

// sharing implements sharer.
func (protobufEncoding) sharing() Encoding { return protobufEncoding{share: true} }

func (e protobufEncoding) Unmarshaler(typ reflect.Type) (func(object []byte, into any) error, error) {
	if err := readsProtobuf(typ); err != nil {
		return nil, err
	}
	decode := newMessages(typ, e.share)
	if typ.Kind() == reflect.Struct {
		return func(object []byte, into any) error { return decode(object, into.(prototree.Unmarshaler)) }, nil
	}
	return func(object []byte, into any) error {
		obj := reflect.New(typ.Elem())
		if err := decode(object, obj.Interface().(prototree.Unmarshaler)); err != nil {
			return err
		}
		reflect.ValueOf(into).Elem().Set(obj)
		return nil
	}, nil
}

// newMessages returns a function that decodes the message of an object. What it keeps
// of it, it copies. With share, equal parts of different objects are one in memory.
func newMessages(typ reflect.Type, share bool) func(object []byte, into prototree.Unmarshaler) error {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	decoders := intern.Pool[prototree.Decoder]{New: func() *prototree.Decoder { return prototree.New(typ, share) }}
	return func(object []byte, into prototree.Unmarshaler) error {
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
		// The kind is on the envelope, where JSON has it in the object. Other types lose it
		// again; see clearKind.
		if metadata, ok := into.(*metav1.PartialObjectMetadata); ok {
			metadata.SetGroupVersionKind(schema.FromAPIVersionAndKind(string(e.apiVersion), string(e.kind)))
		}
		return nil
	}
}

// generated returns an error of generated code, which says io.ErrUnexpectedEOF of a
// message that ends too early: as the connection's it would mean something else.
func generated(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return protowire.ErrTruncated
	}
	return err
}

// probe is an object with a name, and a field of another type that no object has.
const (
	probe     = "\x0a\x07" + "\x0a\x05" + probeName + "\xfa\x07\x01x"
	probeName = "probe"
)

// readsProtobuf returns an error if objects of the type cannot be decoded from
// protobuf. That there is a method Unmarshal does not tell: a struct which embeds
// metav1.ObjectMeta and has no Unmarshal of its own has that of its metadata, which
// would read a whole object for its metadata; one that embeds a generated type has that
// one's, which knows nothing of the fields beside it.
func readsProtobuf(typ reflect.Type) (err error) {
	pointer := typ
	if typ.Kind() == reflect.Struct {
		pointer = reflect.PointerTo(typ)
	}
	obj, ok := reflect.New(pointer.Elem()).Interface().(prototree.Unmarshaler)
	if !ok {
		return fmt.Errorf("%v has no method Unmarshal([]byte) error, which generated API types have", pointer)
	}
	if pointer.Elem().Kind() == reflect.Struct && promoted(pointer.Elem()) {
		return fmt.Errorf("%v has no method Unmarshal of its own: the one of an embedded field would leave the other fields empty", pointer)
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
