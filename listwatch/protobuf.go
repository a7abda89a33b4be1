package listwatch

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch/internal/protowire"
)

const protobufMediaType = "application/vnd.kubernetes.protobuf"

// protobufEncoding is [Protobuf]. Its parts are in the files whose names begin with
// protobuf.
//
// An object or a list stands in an envelope, which names its kind; an item of a list
// stands by itself. Both are given to the methods that take an object.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
type protobufEncoding struct{}

func (protobufEncoding) MediaType() string       { return protobufMediaType }
func (protobufEncoding) StreamMediaType() string { return protobufMediaType }

// unmarshaler is what a type that was generated for protobuf has.
type unmarshaler interface {
	Unmarshal(message []byte) error
}

func (protobufEncoding) Unmarshaler(typ reflect.Type) (func(object []byte, into any) error, error) {
	if err := readsProtobuf(typ); err != nil {
		return nil, err
	}
	if typ.Kind() == reflect.Struct {
		return func(object []byte, into any) error { return unmarshalProtobuf(object, into.(unmarshaler)) }, nil
	}
	return func(object []byte, into any) error {
		obj := reflect.New(typ.Elem())
		if err := unmarshalProtobuf(object, obj.Interface().(unmarshaler)); err != nil {
			return err
		}
		reflect.ValueOf(into).Elem().Set(obj)
		return nil
	}, nil
}

// unmarshalProtobuf decodes a message. Generated code copies what it keeps of it.
func unmarshalProtobuf(object []byte, into unmarshaler) error {
	u, err := openEnvelope(object)
	if err != nil {
		return err
	}
	if err := into.Unmarshal(u.raw); err != nil {
		return generated(err)
	}
	// The kind is on the envelope, where JSON has it in the object. Other types lose it
	// again; see clearKind.
	if metadata, ok := into.(*metav1.PartialObjectMetadata); ok {
		metadata.SetGroupVersionKind(schema.FromAPIVersionAndKind(string(u.apiVersion), string(u.kind)))
	}
	return nil
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
	obj, ok := reflect.New(pointer.Elem()).Interface().(unmarshaler)
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
