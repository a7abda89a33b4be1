package listwatch

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/store"
)

// lenient is how API servers' JSON is read: names are case-sensitive, a name
// that stands twice keeps its last value, and bytes that are not UTF-8 are
// replaced. kube-apiserver reads what it is sent by the same rules.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// decoder turns the JSON of one object into a T.
type decoder[T store.Object] struct {
	unmarshal func(data []byte) (T, error)
	transform func(T) (T, error)
	nullable  bool // T is a pointer, so that nil can come out of a transform

	// setKind gives a list's item the kind that it lacks on the wire, where T
	// wants one. It runs before the transform.
	setKind func(obj T, kind schema.GroupVersionKind)

	acceptList, acceptWatch string
	partial                 bool // T is PartialObjectMetadata
}

const jsonMediaType = "application/json"

// The media types of https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches,
// with whole objects as second choice for servers that know nothing of them.
const (
	acceptMetadataList = jsonMediaType + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," + jsonMediaType
	acceptMetadata     = jsonMediaType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," + jsonMediaType
)

func newDecoder[T store.Object](transform func(T) (T, error)) (*decoder[T], error) {
	var zero T
	d := &decoder[T]{transform: transform, acceptList: jsonMediaType, acceptWatch: jsonMediaType}
	typ := reflect.TypeFor[T]()
	switch typ.Kind() {
	case reflect.Pointer:
		d.nullable = true
	case reflect.Struct:
	default:
		return nil, fmt.Errorf("listwatch: objects cannot be decoded into %v; use a struct or a pointer to one", typ)
	}
	switch any(zero).(type) {
	case *unstructured.Unstructured:
		d.unmarshal = func(data []byte) (T, error) {
			u, err := decodeUnstructured(data)
			return any(u).(T), err
		}
		d.setKind = setMissingKind[T]
	case *metav1.PartialObjectMetadata:
		d.unmarshal = unmarshalStruct[T]
		d.setKind = setMissingKind[T]
		d.acceptList, d.acceptWatch, d.partial = acceptMetadataList, acceptMetadata, true
	default:
		d.unmarshal = func(data []byte) (T, error) {
			obj, err := unmarshalStruct[T](data)
			if err == nil && !d.isNil(obj) {
				clearKind(obj)
			}
			return obj, err
		}
	}
	return d, nil
}

// unmarshalStruct allocates the object by itself when T is a pointer.
func unmarshalStruct[T any](data []byte) (obj T, err error) {
	err = json.Unmarshal(data, &obj, lenient)
	return obj, withoutValue(err)
}

// kinded is what metav1.TypeMeta gives to the structs that embed it.
type kinded interface {
	GetObjectKind() schema.ObjectKind
}

// clearKind makes an object of a watch equal to the same object of a list.
func clearKind[T any](obj T) {
	if k, ok := any(obj).(kinded); ok {
		k.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

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
func (d *decoder[T]) decode(data []byte, kind schema.GroupVersionKind) (obj T, meta Meta, bad *ObjectError) {
	defer func() {
		if p := recover(); p != nil {
			meta = readMeta(data)
			obj, bad = *new(T), &ObjectError{Meta: meta, Err: fmt.Errorf("decode into %T panicked: %v", obj, p)}
		}
	}()
	obj, err := d.unmarshal(data)
	if err == nil && d.isNil(obj) {
		err = errors.New("null where an object should be")
	}
	if err != nil {
		meta = readMeta(data)
		return *new(T), meta, &ObjectError{Meta: meta, Err: fmt.Errorf("decode into %T: %w", obj, err)}
	}
	if obj.GetName() == "" {
		meta = readMeta(data)
		return *new(T), meta, &ObjectError{Meta: meta, Err: errors.New("metadata.name is missing")}
	}
	meta = Meta{Key: store.Key(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}
	if d.setKind != nil && !kind.Empty() {
		d.setKind(obj, kind)
	}
	obj, err = d.apply(obj)
	if err != nil {
		return *new(T), meta, &ObjectError{Meta: meta, Err: err}
	}
	return obj, meta, nil
}

// refuse returns the error of an object that is not to be decoded.
func refuse(data []byte, err error) *ObjectError {
	return &ObjectError{Meta: readMeta(data), Err: err}
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
