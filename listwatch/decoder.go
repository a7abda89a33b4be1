package listwatch

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/store"
)

// decoder turns the bytes of one object into a T.
type decoder[T store.Object] struct {
	encodings []*encoded          // in order of preference
	version   schema.GroupVersion // of the resource
	transform func(T) (T, error)
	nullable  bool // T is a pointer, so that nil can come out of a decoder or a transform
	kinds     bool // objects have a kind: T is unstructured, or metadata
	partial   bool // metadata alone is asked for
}

func newDecoder[T store.Object](transform func(T) (T, error), encodings ...Encoding) (*decoder[T], error) {
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
	d.kinds = d.partial || isUnstructured(typ)
	for _, encoding := range encodings {
		if s, ok := encoding.(sharer); ok && transform == nil {
			encoding = s.sharing()
		}
		unmarshal, err := encoding.Unmarshaler(typ)
		if err != nil {
			return nil, fmt.Errorf("listwatch: %s: %w", encoding.MediaType(), err)
		}
		e := &encoded{Encoding: encoding, unmarshal: unmarshal}
		if i, ok := encoding.(identifier); ok {
			e.identify = i.identity
		}
		d.encodings = append(d.encodings, e)
	}
	return d, nil
}

// kinded is what metav1.TypeMeta gives to pointers to the structs that embed it.
type kinded interface {
	GetObjectKind() schema.ObjectKind
}

// clearKind makes an object of a watch equal to the same object of a list.
func clearKind[T any](obj *T) {
	k, ok := any(*obj).(kinded)
	if !ok {
		k, ok = any(obj).(kinded) // T is a struct
	}
	if ok {
		k.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// setMissingKind gives a list's item the kind that it lacks on the wire.
func setMissingKind[T any](obj T, kind schema.GroupVersionKind) {
	if k, ok := any(obj).(kinded); ok && k.GetObjectKind().GroupVersionKind().Empty() {
		k.GetObjectKind().SetGroupVersionKind(kind)
	}
}

// itemKind derives the kind of a list's items: ConfigMap from ConfigMapList.
func itemKind(list metav1.TypeMeta) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(list.APIVersion, strings.TrimSuffix(list.Kind, "List"))
}

// decode returns the object and its metadata before the transform, or why it
// cannot be used, with as much of its metadata as can be read. Code of T runs here
// (UnmarshalJSON, the getters), on what a server sent: a panic in it must not take
// the program down for one odd object.
func (d *decoder[T]) decode(encoding *encoded, data []byte, kind schema.GroupVersionKind) (obj T, meta Meta, bad *ObjectError) {
	defer func() {
		if p := recover(); p != nil {
			meta = encoding.Meta(data)
			obj, bad = *new(T), &ObjectError{Meta: meta, Err: fmt.Errorf("decode into %T panicked: %v", obj, p)}
		}
	}()
	err := encoding.unmarshal(data, &obj)
	if err == nil && d.isNil(obj) {
		err = errors.New("null where an object should be")
	}
	if err == nil && !d.kinds {
		clearKind(&obj)
	}
	if err != nil {
		meta = encoding.Meta(data)
		return *new(T), meta, &ObjectError{Meta: meta, Err: fmt.Errorf("decode into %T: %w", obj, err)}
	}
	if obj.GetName() == "" {
		meta = encoding.Meta(data)
		return *new(T), meta, &ObjectError{Meta: meta, Err: errors.New("metadata.name is missing")}
	}
	meta = Meta{Key: store.Key(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}
	if d.kinds && !kind.Empty() {
		setMissingKind(obj, kind)
	}
	obj, err = d.apply(obj)
	if err != nil {
		return *new(T), meta, &ObjectError{Meta: meta, Err: err}
	}
	return obj, meta, nil
}

// refuse returns the error of an object that is not to be decoded.
func refuse(encoding *encoded, data []byte, err error) *ObjectError {
	return &ObjectError{Meta: encoding.Meta(data), Err: err}
}

// apply runs the user's transform. A panic in it is told apart from one in T.
func (d *decoder[T]) apply(obj T) (_ T, err error) {
	if d.transform == nil {
		return obj, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("transform panicked: %v", p)
		}
	}()
	out, err := d.transform(obj)
	if err != nil {
		return out, fmt.Errorf("transform: %w", err)
	}
	if d.isNil(out) {
		return out, errors.New("transform returned nil; to leave an object out, filter it with a selector")
	}
	return out, nil
}

// isNil reports whether obj is a nil pointer.
func (d *decoder[T]) isNil(obj T) bool {
	var zero T
	return d.nullable && any(obj) == any(zero)
}
