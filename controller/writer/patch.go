package writer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/relist-go/relist/object"
)

// Modify changes an object that was read. It calls change with a copy of have, and sends what is
// different then as a merge patch. If nothing is different, Modify sends no request, and returns
// have. A field that have lacks and that change sets to zero is no difference if its JSON is the
// same: to write a first false or 0, declare a pointer. Nor is an empty list or struct that T would
// lose again, because of a tag omitzero around it. https://www.rfc-editor.org/rfc/rfc7396
//
// Fields that T lacks stay as they are. A merge patch replaces a list whole. So if change writes to
// a list of objects, such as the containers of a Pod, Modify first asks for the object as it is, by
// a patch that changes nothing, and keeps the fields that T lacks of each item. Items of one name
// are the same item. Items without names are the same if T has equal values of them: so they may be
// added, removed, or put in another order. Or they may be changed, each in its place. If a call
// does both, or removes one of several items that T cannot tell apart, Modify returns an error and
// sends nothing, because it would remove fields that T lacks. But if an item takes the place of
// another that is removed, Modify cannot tell that from a change, and the new item keeps those
// fields. There is no such request if [Options].Complete is set.
//
// A field that is no longer in the JSON of the object is removed whole, with all that it has on the
// server. So a struct that change may empty must not have the tag omitzero, and a number to which
// the server gives a default must not have omitempty.
//
// The patch has the resourceVersion of have: if somebody has written to the object since it was
// read, the error is a conflict. have may be an object of a cache, because change gets a copy; but
// no Drop or Transform must have changed what change writes to. To make the copy, T has a method
// DeepCopyObject, or can be encoded as JSON and decoded again. An object that is kept as bytes
// cannot be changed: a program whose cache has *lazy.Object[T] passes what Get returns to a
// Writer[T].
func (w *Writer[T]) Modify(ctx context.Context, have T, change func(obj T)) (T, error) {
	return w.patch(ctx, call{verb: "patch"}, have, change)
}

// ModifyStatus is Modify for the status. change writes to no other field. If there is no status, an
// empty one is no difference.
func (w *Writer[T]) ModifyStatus(ctx context.Context, have T, change func(obj T)) (T, error) {
	return w.patch(ctx, call{verb: "patch the status of", subresource: "status"}, have, change)
}

func (w *Writer[T]) patch(ctx context.Context, c call, have T, change func(obj T)) (T, error) {
	var before, after map[string]any
	var err error
	c.key, err = keyOf(have)
	switch {
	case err != nil:
	case object.IsAnyVersion(have.GetResourceVersion()):
		err = errors.New("the object has no resourceVersion, so what others have written meanwhile would be lost: patch an object that was read")
	case isBytes(have):
		err = fmt.Errorf("a %T is bytes, and change cannot write to it: decode it, and use a Writer of that type", have)
	default:
		before, after, err = states(have, change, c.subresource)
	}
	if err != nil {
		return *new(T), w.describe(c.verb, c.key, err)
	}
	if !w.opts.Complete && rewritesItems(before, after) {
		whole, err := w.whole(ctx, c, have.GetResourceVersion())
		if err != nil {
			return *new(T), err
		}
		merged, err := overlay("", whole, before, after)
		if err != nil {
			return *new(T), w.describe(c.verb, c.key, err)
		}
		before, after = whole, merged.(map[string]any) //nolint:forcetypeassert // as the last argument is
	}
	patch := mergePatchOf(before, after)
	if len(patch) == 0 {
		return have, nil
	}
	return w.mergePatch(ctx, c.verb, c.subresource, c.key, at(patch, have.GetResourceVersion()))
}

// isBytes reports whether an object has no fields to change, as a listwatch.Raw and a lazy.Object.
// No other type in use has a method Bytes.
func isBytes(obj any) bool {
	_, ok := obj.(interface{ Bytes() []byte })
	return ok
}

// at adds to a patch the condition that the object is at a version.
func at(patch map[string]any, version string) map[string]any {
	meta, _ := patch["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		patch["metadata"] = meta
	}
	meta["resourceVersion"] = version
	return patch
}

// whole returns an object with all of its fields, if it is still at a version. The request is a
// patch that changes nothing, so that it needs no other permission, and is a conflict if the object
// has changed.
func (w *Writer[T]) whole(ctx context.Context, c call, version string) (map[string]any, error) {
	body, _, err := members(at(map[string]any{}, version))
	if err != nil {
		return nil, w.describe(c.verb, c.key, err)
	}
	c.method, c.contentType, c.body = http.MethodPatch, mergePatchType, body
	raw, err := send(ctx, w, w.raw, c)
	if err != nil {
		return nil, err
	}
	if got := raw.GetResourceVersion(); got != version {
		err := fmt.Errorf("the server has version %s of it, and the patch is for %s", got, version)
		_, name, _ := object.SplitKey(c.key) // the key of an object
		return nil, w.describe(c.verb, c.key, apierrors.NewConflict(w.resource.GroupResource(), name, err))
	}
	tree, _, err := asTree(raw.Bytes())
	return tree, err
}

// CreateFrom creates an object of a name: change fills in the rest. It is Create for a T that the
// caller cannot write down, such as a type parameter.
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

// states returns an object before and after change, as trees. If a subresource is given, change may
// change no other member. The trees are the same if T would not find the change in its own JSON,
// such as an empty list in a struct that then has no JSON at all.
func states[T object.Object](have T, change func(obj T), subresource string) (before, after map[string]any, err error) {
	before, text, err := asTree(have)
	if err != nil {
		return nil, nil, err
	}
	changed, err := copyOf(have, text)
	if err != nil {
		return nil, nil, err
	}
	change(changed)
	if after, text, err = asTree(changed); err != nil {
		return nil, nil, err
	}
	patch := mergePatchOf(before, after)
	for member := range patch {
		if subresource != "" && member != subresource {
			return nil, nil, fmt.Errorf("the function has changed %s, and a patch of the %s changes nothing else: use Modify", member, subresource)
		}
	}
	if len(patch) > 0 && isHollow(patch) {
		status, isMap := patch[subresource].(map[string]any)
		again, err := decode[T](text)
		read, _, unread := asTree(again)
		if isMap && len(status) == 0 || err == nil && unread == nil && len(mergePatchOf(before, read)) == 0 {
			return before, before, nil
		}
	}
	return before, after, nil
}

// isHollow reports whether a value has empty objects and lists, and nothing else.
func isHollow(value any) bool {
	if list, ok := value.([]any); ok {
		return len(list) == 0
	}
	members, ok := value.(map[string]any)
	for _, member := range members {
		ok = ok && isHollow(member)
	}
	return ok
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

// decode returns an object from JSON that this package has made. Like the API server, it keeps
// integers in a field of type any.
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

// mergePatchOf returns the merge patch that makes after of before. A null is the same as no member,
// as in a merge patch. json-patch.v4 has a function for that, which makes a float64 of each number
// and so changes integers of more than 53 bits.
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
