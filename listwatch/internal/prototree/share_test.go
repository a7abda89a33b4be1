package prototree

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/relist-go/relist/internal/must"
)

// TestDecodeShared: what has been met before makes no difference, nor has anything been
// added to what is shared, where a message continues after its end.
func TestDecodeShared(t *testing.T) {
	for name, m := range messages() {
		t.Run(name, func(t *testing.T) {
			data, err := m.Marshal()
			must.OK(t, err)
			typ := reflect.TypeOf(m).Elem()
			decoder := New(typ, true)
			for range 3 {
				compare(t, decoder, typ, data)
			}
			for i := range data {
				compare(t, decoder, typ, append(data[:len(data):len(data)], data[:i]...)) // each field twice
				compare(t, decoder, typ, append(data[:i:i], data...))
				compare(t, decoder, typ, data)
			}
		})
	}
}

// sharedStatus has a pointer, a slice and strings, in this order from the outside.
func sharedStatus(reason string) *metav1.Status {
	return &metav1.Status{
		Reason: metav1.StatusReason(reason),
		Details: &metav1.StatusDetails{Name: "web", Kind: "pods", Causes: []metav1.StatusCause{
			{Type: "FieldValueInvalid", Message: "must be no more than 63 characters", Field: "metadata.name"},
		}},
	}
}

// decoded returns what a decoder makes of each of some messages, in order.
func decoded[T any](t *testing.T, share bool, messages ...message) []T {
	t.Helper()
	decoder, all := New(reflect.TypeFor[T](), share), make([]T, len(messages))
	for i, m := range messages {
		data, err := m.Marshal()
		must.OK(t, err)
		into := any(&all[i]).(Unmarshaler)
		must.OK(t, decoder.Decode(data, into))
		clear(data)
		if diff := cmp.Diff(any(m), any(into)); diff != "" {
			t.Fatalf("message %d (-want +got):\n%s", i, diff)
		}
	}
	return all
}

// TestShareParts: parts that are equal are one in memory from the third on, if that is
// asked for, in objects that differ elsewhere.
func TestShareParts(t *testing.T) {
	for _, share := range []bool{false, true} {
		got := decoded[metav1.Status](t, share, sharedStatus("a"), sharedStatus("b"), sharedStatus("c"), sharedStatus("d"))
		a, b := got[2].Details, got[3].Details
		if (a == b) != share {
			t.Errorf("share %v: a pointer leads to the same: %v", share, a == b)
		}
		if one := &a.Causes[0] == &b.Causes[0]; one != share {
			t.Errorf("share %v: slices are one in memory: %v", share, one)
		}
	}
}

// TestShareElements: of a slice in which one element is another, the others share what
// they lead to.
func TestShareElements(t *testing.T) {
	verbs := metav1.Verbs{"get", "list", "watch"}
	resources := func(name string) *metav1.APIResourceList {
		return &metav1.APIResourceList{APIResources: []metav1.APIResource{
			{Name: name},
			{Name: "pods", Kind: "Pod", Verbs: verbs, Categories: []string{"all", "of the workloads", "that there are"}},
		}}
	}
	got := decoded[metav1.APIResourceList](t, true, resources("a"), resources("b"), resources("c"), resources("d"))
	a, b := got[2].APIResources, got[3].APIResources
	if &a[0] == &b[0] {
		t.Error("slices that differ are one in memory")
	}
	if &a[1].Categories[0] != &b[1].Categories[0] {
		t.Error("elements that are equal share nothing")
	}
}

// TestShareNoMetadata: whoever holds an object may write into its metadata.
func TestShareNoMetadata(t *testing.T) {
	got := decoded[metav1.PartialObjectMetadata](t, true, fullMetadata(), fullMetadata(), fullMetadata(), fullMetadata())
	a, b := &got[2], &got[3]
	a.Labels["app"], a.Finalizers[0], a.OwnerReferences[0].Name = "changed", "changed", "changed"
	*a.DeletionGracePeriodSeconds = 1
	a.ManagedFields = append(a.ManagedFields, metav1.ManagedFieldsEntry{Manager: "changed"})
	if diff := cmp.Diff(fullMetadata(), b); diff != "" {
		t.Errorf("a change of one is one of another:\n%s", diff)
	}
}

// TestAppendToShared: who appends to a slice has one of his own.
func TestAppendToShared(t *testing.T) {
	got := decoded[metav1.Status](t, true, sharedStatus("a"), sharedStatus("b"), sharedStatus("c"), sharedStatus("d"))
	for i := range got {
		causes := append(got[i].Details.Causes, metav1.StatusCause{Message: strings.Repeat("x", i)}) //nolint:gocritic // into another on purpose
		if len(causes) != 2 || len(got[i].Details.Causes) != 1 || i > 1 && &causes[0] == &got[2].Details.Causes[0] {
			t.Errorf("object %d has no room of its own", i)
		}
	}
}

// TestSharedHasNoRoom: nor has he if the slice itself was too short to be looked for, or decoded by
// its own type, or not remembered when what it is in was.
func TestSharedHasNoRoom(t *testing.T) {
	var messages []message
	for range 4 {
		for i := range 300 {
			causes := make([]metav1.StatusCause, 12) // the allocator gives room for 13
			causes[0].Message = strings.Repeat("x", i)
			messages = append(messages, &metav1.Status{Details: &metav1.StatusDetails{Kind: "the kind of the object", Causes: causes}})
		}
	}
	for i, status := range decoded[metav1.Status](t, true, messages...) {
		if causes := status.Details.Causes; cap(causes) != len(causes) {
			t.Fatalf("message %d has %d causes in a place for %d", i, len(causes), cap(causes))
		}
	}
	raw := &metav1.List{Items: []runtime.RawExtension{{Raw: make([]byte, 50)}}}
	lists := decoded[metav1.List](t, true, raw, raw, raw, raw)
	if &lists[2].Items[0].Raw[0] == &lists[3].Items[0].Raw[0] {
		t.Error("what generated code decodes, with room behind it, is shared")
	}
	list := &metav1.APIResourceList{APIResources: []metav1.APIResource{
		{Name: "pods", SingularName: "pod", Kind: "Pod", Group: "the group", Verbs: metav1.Verbs{"get", "list", "watch"}},
	}}
	for i, list := range decoded[metav1.APIResourceList](t, true, list, list, list) {
		if verbs := list.APIResources[0].Verbs; cap(verbs) != len(verbs) {
			t.Errorf("message %d has %d verbs in a place for %d", i, len(verbs), cap(verbs))
		}
	}
}

// TestMayCache: reading a Quantity may write to it, which is why it is not shared.
func TestMayCache(t *testing.T) {
	for typ, want := range map[reflect.Type]bool{
		reflect.TypeFor[resource.Quantity]():    true,
		reflect.TypeFor[*resource.Quantity]():   false, // a map's value that is a pointer is no copy of what it leads to
		reflect.TypeFor[metav1.Time]():          false,
		reflect.TypeFor[metav1.MicroTime]():     false,
		reflect.TypeFor[metav1.StatusCause]():   false,
		reflect.TypeFor[string]():               false,
		reflect.TypeFor[metav1.LabelSelector](): false,
	} {
		if got := mayCache(typ); got != want {
			t.Errorf("%v: %t, want %t", typ, got, want)
		}
	}
}
