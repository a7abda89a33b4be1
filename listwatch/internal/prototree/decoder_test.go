package prototree

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	pbwire "google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
)

// message is what generated code writes and reads.
type message interface {
	Unmarshaler
	Marshal() ([]byte, error)
}

func fullMetadata() *metav1.PartialObjectMetadata {
	deleted, grace, controller := metav1.Unix(1700000000, 0), int64(-30), true
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "web-0", GenerateName: "web-", Namespace: "shop", UID: "8c1f", ResourceVersion: "12345", Generation: 1 << 40,
		CreationTimestamp: metav1.Unix(1600000000, 0), DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &grace,
		Labels:          map[string]string{"app": "web", "tier": "", "": "é\xff"},
		Annotations:     map[string]string{"note": strings.Repeat("long ", 100)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "77", Controller: &controller}, {}},
		Finalizers:      []string{"a", "", "b"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kubelet", Operation: "Update", Time: &deleted, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
			{Manager: "nobody"},
		},
	}}
}

// messages are of types with slices, maps and pointers of each kind.
func messages() map[string]message {
	code, seconds := int64(7), int64(-1)
	return map[string]message{
		"metadata": fullMetadata(),
		"nothing":  &metav1.PartialObjectMetadata{},
		"status":   &metav1.Status{Status: "Failure", Code: -404, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "a"}, {}}, RetryAfterSeconds: 3}},
		"resources": &metav1.APIResourceList{APIResources: []metav1.APIResource{
			{Name: "pods", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}, Categories: []string{"all"}}, {Verbs: metav1.Verbs{}},
		}},
		"selector": &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "In", Values: []string{"v"}}}},
		"event":    &metav1.WatchEvent{Type: "ADDED"},
		"list":     &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "7", RemainingItemCount: &code}},
		"options":  &metav1.DeleteOptions{GracePeriodSeconds: &seconds, DryRun: []string{"All"}, Preconditions: &metav1.Preconditions{}},
	}
}

// compare decodes data in both ways, which must agree in what they say and make.
func compare(t *testing.T, decoder *Decoder, typ reflect.Type, data []byte) {
	t.Helper()
	want, got := reflect.New(typ).Interface().(Unmarshaler), reflect.New(typ).Interface().(Unmarshaler)
	wantErr, err := want.Unmarshal(data), decoder.Decode(data, got)
	if (wantErr == nil) != (err == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Fatalf("%v of %x: %v, generated code says %v", typ, data, err, wantErr)
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%v of %x differs (-generated +decoded):\n%s", typ, data, cmp.Diff(want, got))
	}
}

// TestDecode: what generated code makes of a message, and of it cut anywhere, and with
// any byte changed.
func TestDecode(t *testing.T) {
	for name, m := range messages() {
		t.Run(name, func(t *testing.T) {
			data, err := m.Marshal()
			must.OK(t, err)
			typ := reflect.TypeOf(m).Elem()
			decoder := New(typ, false)
			if v := reflect.New(typ).Elem(); !decoder.plan.decode(&decoder.parser, value{bytes: data}, v.Addr().UnsafePointer()) {
				t.Error("it was left to generated code")
			}
			compare(t, decoder, typ, data)
			compare(t, decoder, typ, append(data, data...)) // each field twice
			for i := range data {
				compare(t, decoder, typ, data[:i])
				for _, flip := range []byte{0x01, 0x08, 0x80, 0xff} {
					odd := append([]byte(nil), data...)
					odd[i] ^= flip
					compare(t, decoder, typ, odd)
				}
			}
		})
	}
}

// TestDecodeOdd: what no server writes is left to generated code.
func TestDecodeOdd(t *testing.T) {
	typ := reflect.TypeFor[metav1.PartialObjectMetadata]()
	decoder := New(typ, true)
	for name, data := range map[string]string{
		"a group":                 "\x0a\x02\x0b\x0c",
		"an unknown group":        "\xfb\x01\xfc\x01",
		"an unknown field":        "\x0a\x03\x0a\x01a\xfa\x07\x01x",
		"an unknown number":       "\xf8\xff\xff\xff\x0f\x01\x99\x06abcdefgh\x9d\x06abcd",
		"another wire type":       "\x0a\x02\x08\x01",
		"a field that comes late": "\x0a\x03\x72\x01a\x0a\x03\x0a\x01n\x0a\x03\x72\x01b",
		"a map without a value":   "\x0a\x05\x5a\x03\x0a\x01k",
		"a map without a key":     "\x0a\x05\x5a\x03\x12\x01v",
		"a map, value first":      "\x0a\x08\x5a\x06\x12\x01v\x0a\x01k",
		"a map with more":         "\x0a\x0a\x5a\x08\x0a\x01k\x12\x01v\x18\x01",
		"an empty entry":          "\x0a\x02\x5a\x00",
		"a number of 65 bits":     "\x0a\x0c\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
		"an empty FieldsV1":       "\x0a\x05\x8a\x01\x02\x3a\x00",
		"FieldsV1 twice":          "\x0a\x0a\x8a\x01\x07\x3a\x03\x0a\x01a\x3a\x00",
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 { // what is remembered of the first must not matter
				compare(t, decoder, typ, []byte(data))
			}
		})
	}
}

// byHand reads its first field, whatever its tags say.
type byHand struct {
	Name string `protobuf:"bytes,2,opt,name=name"`
}

func (b *byHand) Unmarshal(message []byte) error {
	b.Name = string(message)
	return nil
}

func TestMethodsWrittenByHandAreCalled(t *testing.T) {
	var got byHand
	if err := New(reflect.TypeFor[byHand](), true).Decode([]byte("\x12\x01a"), &got); err != nil || got.Name != "\x12\x01a" {
		t.Errorf("got %q, %v", got.Name, err)
	}
}

// Places have no types, so a value of another type must not come to them.
func TestAnotherTypeIsLeftToItsMethod(t *testing.T) {
	decoder := New(reflect.TypeFor[metav1.PartialObjectMetadata](), false)
	data, err := (&metav1.Status{Message: "m"}).Marshal()
	must.OK(t, err)
	var got metav1.Status
	if err := decoder.Decode(data, &got); err != nil || got.Message != "m" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestShare: strings and fieldsV1 are one in memory in any case, and nothing is part
// of the message.
func TestShare(t *testing.T) {
	data, err := fullMetadata().Marshal()
	must.OK(t, err)
	for _, share := range []bool{false, true} {
		decoder := New(reflect.TypeFor[metav1.PartialObjectMetadata](), share)
		var got [4]metav1.PartialObjectMetadata
		for i := range got {
			message := append([]byte(nil), data...)
			must.OK(t, decoder.Decode(message, &got[i]))
			clear(message)
			if diff := cmp.Diff(fullMetadata(), &got[i]); diff != "" {
				t.Fatalf("time %d (-want +got):\n%s", i, diff)
			}
		}
		a, b := &got[2], &got[3]
		if a.ManagedFields[0].FieldsV1 != b.ManagedFields[0].FieldsV1 {
			t.Errorf("share %v: fieldsV1 are not one in memory", share)
		}
		if n := cap(a.OwnerReferences); n > 2 {
			t.Errorf("there is room for %d owners, and there are 2", n)
		}
	}
	// Of many strings, one may make another be forgotten.
	decoder, inShop := New(reflect.TypeFor[metav1.PartialObjectMetadata](), false), []byte("\x0a\x06\x1a\x04shop")
	var a, b metav1.PartialObjectMetadata
	if err := errors.Join(decoder.Decode(inShop, &a), decoder.Decode(inShop, &b)); err != nil || a.Namespace != "shop" {
		t.Fatalf("%q, %v", a.Namespace, err)
	}
	if unsafe.StringData(a.Namespace) != unsafe.StringData(b.Namespace) {
		t.Error("equal strings stand twice in memory")
	}
}

// TestLongSlice: what a slice takes grows with its length, not with the square, in one run and in
// runs of one element.
func TestLongSlice(t *testing.T) {
	const n = 5000
	for _, element := range []string{"\x72\x01a", "\x72\x01a\x38\x01"} { // a finalizer, and a generation behind it
		meta := strings.Repeat(element, n)
		message := append(pbwire.AppendVarint([]byte{0x0a}, uint64(len(meta))), meta...)
		decoder := New(reflect.TypeFor[metav1.PartialObjectMetadata](), false)
		var into metav1.PartialObjectMetadata
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must.OK(t, decoder.Decode(message, &into))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; len(into.Finalizers) != n || took > 200*n {
			t.Errorf("%q: %d elements, and %d bytes for them", element, len(into.Finalizers), took)
		}
	}
}

// TestLongStringIsNotKept: a decoder remembers no long string.
func TestLongStringIsNotKept(t *testing.T) {
	decoder := New(reflect.TypeFor[metav1.Status](), false)
	must.OK(t, decoder.Decode([]byte("\x1a\xac\x02"+strings.Repeat("x", 300)), new(metav1.Status)))
	for place, text := range decoder.parser.last {
		if text != "" {
			t.Errorf("the decoder keeps %d bytes at place %d", len(text), place)
		}
	}
}

// FuzzDecode compares with generated code.
func FuzzDecode(f *testing.F) {
	types := []reflect.Type{}
	for _, m := range []message{&metav1.PartialObjectMetadata{}, &metav1.Status{}, &metav1.APIResourceList{}, &metav1.LabelSelector{}, &metav1.DeleteOptions{}} {
		types = append(types, reflect.TypeOf(m).Elem())
	}
	for _, m := range messages() {
		data, err := m.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, typ := range types {
			for _, decoder := range []*Decoder{New(typ, false), New(typ, true)} {
				for range 3 {
					compare(t, decoder, typ, data)
				}
			}
		}
	})
}
