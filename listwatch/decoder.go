package listwatch

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/typecheck"
	"github.com/relist-go/relist/listwatch/internal/unstructured"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

// decoder turns the bytes of one object into a T.
type decoder[T object.Object] struct {
	encodings []*encoded          // in order of preference
	version   schema.GroupVersion // of the resource
	transform func(T) (T, error)
	nullable  bool // T is a pointer, so that nil can come out of a decoder or a transform
	kinds     bool // objects have a kind: T is unstructured, metadata, or Raw
	partial   bool // metadata alone is asked for
	unmanaged bool // managedFields are dropped

	// namespaces is true if T is not known to return the namespaces of its objects, so that
	// each object is compared with its bytes. Two objects of one name would have one key.
	namespaces bool
}

func newDecoder[T object.Object](transform func(T) (T, error), drop []string, shareParts bool, encodings ...Encoding) (*decoder[T], error) {
	d := &decoder[T]{transform: transform}
	typ := reflect.TypeFor[T]()
	switch typ.Kind() {
	case reflect.Pointer:
		d.nullable = true
	case reflect.Struct:
	default:
		return nil, fmt.Errorf("listwatch: objects cannot be decoded into %v; use a struct or a pointer to one", typ)
	}
	d.partial = typ == reflect.TypeFor[*metav1.PartialObjectMetadata]()
	d.kinds = d.partial || unstructured.Is(typ) || isRaw(typ)
	paths, err := parseDrop(drop)
	if err != nil {
		return nil, err
	}
	d.unmanaged = slices.ContainsFunc(paths, func(path []string) bool { return slices.Equal(path, []string{"metadata", "managedFields"}) })
	d.encodings, err = prepare(typ, format.Options{Drop: paths, ShareParts: shareParts}, encodings)
	return d, err
}

// checkType returns an error if objects would not be decoded into a T as the author of T
// must have meant. namespaced says that each object has a namespace.
func (d *decoder[T]) checkType(namespaced bool) error {
	typ := reflect.TypeFor[T]()
	if unstructured.Is(typ) {
		return nil
	}
	known, err := typecheck.Check(typ, namespaced)
	if err != nil {
		return fmt.Errorf("listwatch: %w", err)
	}
	d.namespaces = !known
	return nil
}

// checkNamespace returns an error if an object has a namespace that its getter does not
// return.
func (d *decoder[T]) checkNamespace(encoding *encoded, data []byte, obj T) error {
	if !d.namespaces || obj.GetNamespace() != "" {
		return nil
	}
	if namespace := encoding.Identify(data).Namespace; len(namespace) > 0 {
		return typecheck.WrongNamespace(string(namespace))
	}
	return nil
}

// decode returns the object, and its metadata as they were before the transform. If
// the object cannot be used, decode returns the reason and as much of the metadata
// as can be read.
func (d *decoder[T]) decode(encoding *encoded, data []byte, kind schema.GroupVersionKind) (T, object.Meta, *source.ObjectError) {
	obj, meta, bad := d.read(encoding, data, kind)
	if bad == nil && d.transform != nil {
		var err error
		if obj, err = d.apply(obj); err != nil {
			return *new(T), meta, &source.ObjectError{Meta: meta, Err: err}
		}
	}
	return obj, meta, bad
}

// read does what decode does before the transform. It calls code of T (UnmarshalJSON, the
// getters) with bytes from a server, and recovers from a panic there, because one odd
// object must not end the program.
func (d *decoder[T]) read(encoding *encoded, data []byte, kind schema.GroupVersionKind) (obj T, meta object.Meta, bad *source.ObjectError) {
	defer func() {
		if p := recover(); p != nil {
			meta = encoding.Identify(data).Meta()
			obj, bad = *new(T), &source.ObjectError{Meta: meta, Err: fmt.Errorf("decode into %T panicked: %v", obj, p)}
		}
	}()
	err := encoding.decode(data, kind, &obj)
	if err == nil && d.isNil(obj) {
		err = errors.New("null where an object should be")
	}
	if err == nil && !d.kinds {
		clearKind(&obj)
	}
	if err != nil {
		meta = encoding.Identify(data).Meta()
		return *new(T), meta, &source.ObjectError{Meta: meta, Err: fmt.Errorf("decode into %T: %w", obj, err)}
	}
	if obj.GetName() == "" {
		meta = encoding.Identify(data).Meta()
		return *new(T), meta, &source.ObjectError{Meta: meta, Err: errNoName}
	}
	if err := d.checkNamespace(encoding, data, obj); err != nil {
		meta = encoding.Identify(data).Meta()
		return *new(T), meta, &source.ObjectError{Meta: meta, Err: fmt.Errorf("decode into %T: %w", obj, err)}
	}
	meta = object.Meta{Key: object.Key(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}
	if d.kinds && !kind.Empty() {
		setMissingKind(obj, kind)
	}
	return obj, meta, nil
}

// decode decodes an object. kind is that of an item that names none; only a Raw is given it here,
// because its bytes are copied here.
func (e *encoded) decode(object []byte, kind schema.GroupVersionKind, into any) error {
	if !e.raw {
		return e.unmarshal(object, into)
	}
	item := rawItem{kind: kind}
	if err := e.unmarshal(object, &item); err != nil {
		return err
	}
	*into.(**Raw) = item.raw
	return nil
}

var errNoName = errors.New("metadata.name is missing")

// refuse returns the error for an object that must not be decoded.
func refuse(encoding *encoded, data []byte, err error) *source.ObjectError {
	return &source.ObjectError{Meta: encoding.Identify(data).Meta(), Err: err}
}

// apply runs the user's transform.
func (d *decoder[T]) apply(obj T) (T, error) {
	out, err := d.transform(obj)
	if err != nil {
		return out, fmt.Errorf("transform: %w", err)
	}
	if d.isNil(out) {
		return out, errors.New("transform returned nil; to leave an object out, filter it with a selector")
	}
	return out, nil
}

func (d *decoder[T]) isNil(obj T) bool {
	var zero T
	return d.nullable && any(obj) == any(zero)
}
