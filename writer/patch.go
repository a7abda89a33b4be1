package writer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/relist-go/relist/object"
)

// Patch changes an object that was read. It calls change with a copy of have, and sends the fields that change has written to as a
// merge patch. Fields that T lacks stay as they are, but a list is replaced whole: if change writes to a list, fields that T lacks
// are removed from its items. If nothing is different, Patch sends no request, and returns have.
// https://www.rfc-editor.org/rfc/rfc7396
//
// The patch has the resourceVersion of have: if somebody has written to the object since it was read, the error is a conflict.
// have may be an object of a cache, because change gets a copy; but no Drop or Transform must have changed what change writes to. To
// make the copy, T has a method DeepCopyObject, or can be encoded
// as JSON and decoded again.
func (w *Writer[T]) Patch(ctx context.Context, have T, change func(obj T)) (T, error) {
	return w.patch(ctx, "patch", "", have, change)
}

// PatchStatus is Patch for the status. change writes to no other field.
func (w *Writer[T]) PatchStatus(ctx context.Context, have T, change func(obj T)) (T, error) {
	return w.patch(ctx, "patch the status of", "status", have, change)
}

func (w *Writer[T]) patch(ctx context.Context, verb, subresource string, have T, change func(obj T)) (T, error) {
	key, err := keyOf(have)
	var patch map[string]any
	switch {
	case err != nil:
	case object.Any(have.GetResourceVersion()):
		err = errors.New("the object has no resourceVersion, so what others have written meanwhile would be lost: patch an object that was read")
	default:
		patch, err = difference(have, change, subresource)
	}
	if err != nil {
		return *new(T), w.describe(verb, key, err)
	}
	if patch == nil {
		return have, nil
	}
	return w.mergePatch(ctx, verb, subresource, key, patch)
}

// CreateFrom creates an object of a name: change fills in the rest. It is Create for a T that the caller cannot write down, such as
// a type parameter.
func (w *Writer[T]) CreateFrom(ctx context.Context, meta metav1.ObjectMeta, change func(obj T)) (T, error) {
	obj, err := w.fromMeta(meta)
	if err != nil {
		return *new(T), w.describe("create", object.Key(&meta), err)
	}
	change(obj)
	return w.Create(ctx, obj)
}

// fromMeta returns an object that has metadata, and nothing else.
func (w *Writer[T]) fromMeta(meta metav1.ObjectMeta) (obj T, err error) {
	text, err := w.encode(metav1.PartialObjectMetadata{ObjectMeta: meta})
	if err != nil {
		return obj, err
	}
	if obj, err = decode[T](text); err != nil {
		return obj, err
	}
	want, _, err := asTree(meta)
	if err != nil {
		return obj, err
	}
	tree, _, err := asTree(obj)
	if err != nil {
		return obj, err
	}
	got, _ := tree["metadata"].(map[string]any)
	for name, value := range want {
		if value != nil && !reflect.DeepEqual(value, got[name]) {
			return obj, fmt.Errorf("a %T does not keep metadata.%s, so the object would be created without it: embed metav1.ObjectMeta", obj, name)
		}
	}
	return obj, nil
}

// difference returns what change does to an object, as a merge patch that has the object's resourceVersion; nil if it does nothing.
// If a subresource is given, change may change no other member of the object.
func difference[T object.Object](have T, change func(obj T), subresource string) (map[string]any, error) {
	before, text, err := asTree(have)
	if err != nil {
		return nil, err
	}
	changed, err := copyOf(have, text)
	if err != nil {
		return nil, err
	}
	change(changed)
	after, _, err := asTree(changed)
	if err != nil {
		return nil, err
	}
	patch := mergePatchOf(before, after)
	if len(patch) == 0 {
		return nil, nil
	}
	for member := range patch {
		if subresource != "" && member != subresource {
			return nil, fmt.Errorf("the function has changed %s, and a patch of the %s changes nothing else: use Patch", member, subresource)
		}
	}
	meta, _ := patch["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		patch["metadata"] = meta
	}
	meta["resourceVersion"] = have.GetResourceVersion()
	return patch, nil
}

// copyOf returns a copy of an object that is text in JSON.
func copyOf[T object.Object](obj T, text []byte) (T, error) {
	if o, ok := any(obj).(runtime.Object); ok {
		if c, ok := o.DeepCopyObject().(T); ok { // another type, if T only embeds one that has the method
			return c, nil
		}
	}
	c, err := decode[T](text)
	if err != nil {
		return c, err
	}
	if again, err := json.Marshal(c); err != nil || !bytes.Equal(again, text) {
		return c, fmt.Errorf("a %T is another object when it was encoded as JSON and decoded again: give it a method DeepCopyObject, or use MergePatch", obj)
	}
	return c, nil
}

// decode returns an object from JSON that this package has made. Like the API server, it keeps integers in a field of type any.
func decode[T any](text []byte) (obj T, err error) {
	p := reflect.TypeFor[T]()
	if p.Kind() != reflect.Pointer {
		return obj, fmt.Errorf("%v is no pointer: change could not write to it", p)
	}
	obj = reflect.New(p.Elem()).Interface().(T) //nolint:forcetypeassert // it is a pointer to what T points to
	return obj, utiljson.Unmarshal(text, obj)
}

// asTree returns a value as the JSON text and as maps, whose numbers are the text of the number.
func asTree(value any) (tree map[string]any, text []byte, err error) {
	if text, _, err = members(value); err != nil {
		return nil, nil, err
	}
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	return tree, text, numbers.Decode(&tree)
}

// mergePatchOf returns the merge patch that makes after of before. A null is the same as no member, as in a merge patch.
// json-patch.v4 has a function for that, which makes a float64 of each number and so changes integers of more than 53 bits.
func mergePatchOf(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for name, was := range before {
		if was != nil && after[name] == nil {
			patch[name] = nil
		}
	}
	for name, now := range after {
		was := before[name]
		if now == nil || reflect.DeepEqual(was, now) {
			continue
		}
		wasMap, _ := was.(map[string]any)
		nowMap, _ := now.(map[string]any)
		if wasMap == nil || nowMap == nil {
			patch[name] = now
		} else if inner := mergePatchOf(wasMap, nowMap); len(inner) > 0 {
			patch[name] = inner
		}
	}
	return patch
}
