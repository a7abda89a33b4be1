// Package lazy keeps objects as the bytes that the server sent. A cache of whole objects takes
// several times the memory of their bytes, and most programs look at a few fields of each object.
//
//	nodeName := lazy.At[string]("spec.nodeName")
//	encoding, err := lazy.New[*corev1.Pod](lazy.Options{Encoding: listwatch.Protobuf, Fields: []lazy.Named{nodeName}})
//	pods, err := listwatch.New(client, podResource, listwatch.Options[*lazy.Object[*corev1.Pod]]{
//		Encoding: encoding,
//		Drop:     []string{"metadata.managedFields"},
//	})
//	...
//	nodeName.Of(pod) // was decoded when the Pod came
//	pod.Get()        // decodes the whole Pod, each time
//
// An [Object] goes wherever an object goes: through a store, a queue, handlers, indexes and
// checkpoints. What identifies it, its labels, its owners and the named fields are decoded when it
// comes. Everything else is one slice of bytes, which the garbage collector does not look into, and
// which is free as soon as nobody has the object any more.
//
// Get returns a fresh value each time, so a program may change it and needs no DeepCopy. A cache of
// lazy objects cannot be changed by mistake, except for labels and owner references.
package lazy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
)

// Object is one object of type T as bytes, with its metadata and the named fields. It must not be
// changed. Several goroutines may read it.
type Object[T object.Object] struct{ content }

var errEmpty = errors.New("lazy: the object is empty: nothing was decoded into it")

// content is what an Object of any type has.
type content struct {
	meta   meta
	values any    // a pointer to a struct of the named fields, in their order; nil if there are none
	data   []byte // as Bytes returns it, or what the Packer made of it
	packed bool
	from   *reader
}

// meta has the metadata that every Object has decoded. The tags are those of metav1.ObjectMeta.
type meta struct {
	Name              string                  `json:"name" protobuf:"bytes,1"`
	Namespace         string                  `json:"namespace" protobuf:"bytes,3"`
	UID               types.UID               `json:"uid" protobuf:"bytes,5"`
	ResourceVersion   string                  `json:"resourceVersion" protobuf:"bytes,6"`
	DeletionTimestamp *metav1.Time            `json:"deletionTimestamp" protobuf:"bytes,9"`
	Labels            map[string]string       `json:"labels" protobuf:"bytes,11"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences" protobuf:"bytes,13"`
}

// GetNamespace returns the namespace. It is "" for a cluster-scoped object.
func (o *Object[T]) GetNamespace() string { return o.meta.Namespace }

// GetName returns the name.
func (o *Object[T]) GetName() string { return o.meta.Name }

// GetUID returns the UID.
func (o *Object[T]) GetUID() types.UID { return o.meta.UID }

// GetResourceVersion returns the resourceVersion.
func (o *Object[T]) GetResourceVersion() string { return o.meta.ResourceVersion }

// GetLabels returns the labels. The caller must not change them, because other objects may have the
// same map.
func (o *Object[T]) GetLabels() map[string]string { return o.meta.Labels }

// GetOwnerReferences returns the owners. The caller must not change them.
func (o *Object[T]) GetOwnerReferences() []metav1.OwnerReference { return o.meta.OwnerReferences }

// GetDeletionTimestamp returns when the deletion was asked for. It is nil if it was not.
func (o *Object[T]) GetDeletionTimestamp() *metav1.Time { return o.meta.DeletionTimestamp }

// Get decodes the object. Each call returns a value of its own, which the caller may change. It is
// the value that listwatch.New without this package would bring, except that it shares no parts
// with other objects. Get returns an error only if nothing was decoded into the object, or if
// nothing has checked it: it came with [Options.Unchecked], or UnmarshalJSON or Unmarshal has read
// it.
func (o *Object[T]) Get() (T, error) {
	if o.from == nil {
		return *new(T), errEmpty
	}
	var obj T
	if err := o.from.whole(o.Bytes(), &obj); err != nil {
		return *new(T), fmt.Errorf("lazy: decode %s: %w", o, err)
	}
	if k, ok := any(obj).(interface{ GetObjectKind() schema.ObjectKind }); ok {
		k.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // compact leaves kind and apiVersion where they do not come first
	}
	return obj, nil
}

// Bytes returns the object: its JSON, without kind and apiVersion if these come first, or its
// protobuf message without the envelope. The caller must not change them.
func (o *Object[T]) Bytes() []byte {
	if o.packed {
		return o.from.packer.Unpack(o.data)
	}
	return o.data
}

// Equal reports whether two objects have the same bytes.
func (o *Object[T]) Equal(other *Object[T]) bool { return bytes.Equal(o.Bytes(), other.Bytes()) }

// Size returns the number of bytes that are kept, which are packed if there is a Packer.
func (o *Object[T]) Size() int { return len(o.data) }

// String returns namespace/name, or name if there is no namespace. It shows nothing of the content,
// which may be a Secret.
func (o *Object[T]) String() string { return object.Key(o) }

// MarshalJSON returns the JSON of the object. If it is kept in protobuf, it is decoded first.
func (o *Object[T]) MarshalJSON() ([]byte, error) {
	if data := o.Bytes(); isJSON(data) {
		return data, nil
	}
	obj, err := o.Get()
	if err != nil {
		return nil, err
	}
	return json.Marshal(obj)
}

// UnmarshalJSON keeps a copy of an object's JSON. It checks no more than [Options.Unchecked] does.
// No field of the result was named, so [Field.Of] decodes it each time.
func (o *Object[T]) UnmarshalJSON(object []byte) error { return o.unmarshal(object, true) }

// Marshal returns Bytes, and Unmarshal takes them. So a checkpoint of an informer has them as they
// are.
func (o *Object[T]) Marshal() ([]byte, error) { return o.Bytes(), nil }

// Unmarshal keeps a copy of an object: of a protobuf message or of JSON, as Marshal returns them.
// It does otherwise what UnmarshalJSON does.
func (o *Object[T]) Unmarshal(data []byte) error { return o.unmarshal(data, isJSON(data)) }

func (o *Object[T]) unmarshal(data []byte, isJSON bool) error {
	r, err := readerWithoutFields(reflect.TypeFor[T](), isJSON)
	if err != nil {
		return err
	}
	return r.receive(data, &o.content)
}
