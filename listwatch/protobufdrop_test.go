package listwatch

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func fullMetadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Namespace: "n", UID: "u", ResourceVersion: "5",
		Labels:      map[string]string{"app": "web", "tier": "front"},
		Annotations: map[string]string{"a.b/c": strings.Repeat("long ", 100), "d": "kept"},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a", UID: types.UID("r")}, {Name: "b"},
		},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)}},
	}}
}

// What is dropped from protobuf is what is dropped from JSON, with an envelope or
// without.
func TestDropFromProtobuf(t *testing.T) {
	drop := []string{"metadata.managedFields", `metadata.annotations.a\.b/c`, "metadata.ownerReferences.uid", "metadata.nothing", "metadata.generateName.x"}
	want := fullMetadata()
	want.ManagedFields = nil
	want.Annotations = map[string]string{"d": "kept"}
	want.OwnerReferences[0].UID = ""
	d, err := newDecoder[*metav1.PartialObjectMetadata](nil, Protobuf)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.drop(drop); err != nil {
		t.Fatal(err)
	}
	item, err := fullMetadata().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, object := range map[string][]byte{"an item": item, "an object": inEnvelope(item)} {
		got, _, bad := d.decode(d.encodings[0], object, schema.GroupVersionKind{})
		if bad != nil {
			t.Fatal(bad)
		}
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
	return append(append(append([]byte{}, protobufMagic...), append([]byte{unknownRaw<<3 | 2}, length...)...), item...)
}

// A message that is none stays what it is, for the decoder to complain of.
func TestDropFromTornProtobuf(t *testing.T) {
	without, err := protobufEncoding{}.dropper(reflect.TypeFor[*metav1.PartialObjectMetadata](), [][]string{{"metadata", "managedFields"}})
	if err != nil {
		t.Fatal(err)
	}
	item, err := fullMetadata().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for end := range len(item) {
		if end == 0 {
			continue
		}
		torn := item[:end]
		if got := without(nil, torn); string(got) != string(torn) {
			t.Fatalf("%d bytes of %d became %d others", end, len(item), len(got))
		}
	}
}

// Dropping from the bytes is dropping from what they say.
func FuzzDropFromProtobuf(f *testing.F) {
	item, err := fullMetadata().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(item)
	f.Add(inEnvelope(item))
	without, err := protobufEncoding{}.dropper(reflect.TypeFor[*metav1.PartialObjectMetadata](), [][]string{{"metadata", "managedFields"}, {"metadata", "annotations", "d"}})
	if err != nil {
		f.Fatal(err)
	}
	decode := newMessages(reflect.TypeFor[metav1.PartialObjectMetadata](), false)
	f.Fuzz(func(t *testing.T, data []byte) {
		var want, got metav1.PartialObjectMetadata
		if decode(data, &want) != nil {
			return
		}
		if err := decode(without(nil, data), &got); err != nil {
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
