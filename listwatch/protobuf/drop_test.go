package protobuf

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/internal/protowire"
)

func fullMetadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "a", GenerateName: "not a message", Namespace: "n", UID: "u", ResourceVersion: "5",
		Labels:      map[string]string{"app": "web", "tier": "front"},
		Annotations: map[string]string{"a.b/c": strings.Repeat("long ", 100), "d": "kept"},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a", UID: types.UID("r")}, {Name: "b"},
		},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)}},
	}}
}

// A path drops the same member from protobuf as from JSON, with and without an envelope.
func TestDropFromProtobuf(t *testing.T) {
	drop := [][]string{{"metadata", "managedFields"}, {"metadata", "annotations", "a.b/c"}, {"metadata", "ownerReferences", "uid"}, {"metadata", "nothing"}, {"metadata", "generateName", "x"}}
	want := fullMetadata()
	want.ManagedFields = nil
	want.Annotations = map[string]string{"d": "kept"}
	want.OwnerReferences[0].UID = ""
	unmarshal, err := Format{}.Unmarshaler(reflect.TypeFor[*metav1.PartialObjectMetadata](), format.Options{Drop: drop})
	must.OK(t, err)
	item, err := fullMetadata().Marshal()
	must.OK(t, err)
	for name, object := range map[string][]byte{"an item": item, "an object": inEnvelope(item)} {
		var got *metav1.PartialObjectMetadata
		must.OK(t, unmarshal(object, &got))
		got.TypeMeta = metav1.TypeMeta{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// inEnvelope puts an object into an envelope without a kind.
func inEnvelope(item []byte) []byte {
	length := []byte{}
	for n := len(item); ; n >>= 7 {
		if n < 0x80 {
			length = append(length, byte(n))
			break
		}
		length = append(length, byte(n)|0x80)
	}
	return append(append(append([]byte{}, magic...), append([]byte{unknownRaw<<3 | 2}, length...)...), item...)
}

// Bytes that are not a message stay unchanged, so that the decoder returns the error.
func TestDropFromTornProtobuf(t *testing.T) {
	without, err := newDrop(reflect.TypeFor[*metav1.PartialObjectMetadata](), [][]string{{"metadata", "managedFields"}})
	must.OK(t, err)
	item, err := fullMetadata().Marshal()
	must.OK(t, err)
	for end := range len(item) {
		if end == 0 {
			continue
		}
		torn := item[:end]
		if got := without.object(nil, torn); string(got) != string(torn) {
			t.Fatalf("%d bytes of %d became %d others", end, len(item), len(got))
		}
	}
}

// torn reports whether a message that drop must enter is cut off. Generated code allows a part of a
// map's entry to reach beyond the entry's end.
func torn(object []byte) bool {
	e, err := openEnvelope(object)
	walk := func(message []byte, number int, inside func(protowire.Field) error) error {
		return protowire.Each(message, func(f protowire.Field) error {
			if f.Number != number || f.Type != protowire.Bytes {
				return nil
			}
			return inside(f)
		})
	}
	return err != nil || walk(e.raw, objectMetadata, func(metadata protowire.Field) error {
		return walk(metadata.Bytes, metadataAnnotations, func(entry protowire.Field) error {
			return protowire.Each(entry.Bytes, func(protowire.Field) error { return nil })
		})
	}) != nil
}

// Dropping a member from the bytes and then decoding gives the same object as decoding and then
// dropping. If the bytes are torn, nothing is dropped.
func FuzzDropFromProtobuf(f *testing.F) {
	item, err := fullMetadata().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(item)
	f.Add(inEnvelope(item))
	f.Add(bytes.Replace(item, []byte("\x12\x04kept"), []byte("\x12\x10kept"), 1))
	without, err := newDrop(reflect.TypeFor[*metav1.PartialObjectMetadata](), [][]string{{"metadata", "managedFields"}, {"metadata", "annotations", "d"}})
	if err != nil {
		f.Fatal(err)
	}
	decode := newMessages(reflect.TypeFor[metav1.PartialObjectMetadata](), false)
	f.Fuzz(func(t *testing.T, data []byte) {
		var want, got metav1.PartialObjectMetadata
		if decode(data, &want) != nil {
			return
		}
		if left := without.object(nil, data); torn(data) {
			if !bytes.Equal(left, data) {
				t.Fatalf("%q is torn, and became %q", data, left)
			}
			return
		}
		if err := decode(without.object(nil, data), &got); err != nil {
			t.Fatalf("%q is whole, and broken without what is dropped: %v", data, err)
		}
		want.ManagedFields = nil
		delete(want.Annotations, "d")
		if len(want.Annotations) == 0 {
			want.Annotations, got.Annotations = nil, nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: (-want +got)\n%s", data, diff)
		}
	})
}
