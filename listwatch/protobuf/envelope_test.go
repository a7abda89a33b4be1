package protobuf

import (
	"bytes"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// FuzzEnvelope compares an object's envelope with what generated code finds in it. What is nested,
// or in the object itself, never counts as its kind.
func FuzzEnvelope(f *testing.F) {
	inside, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "X"}, Raw: []byte("r")}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	whole, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "apps/v1", Kind: "A"}, Raw: append(bytes.Clone(magic), inside...)}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(append(bytes.Clone(whole), inside...)) // each field is there twice
	f.Add([]byte("\x12\x04\x12\x02\x0a\x00\x0a\x03\x12\x01A\x0a\x04\x0a\x02v1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want runtime.Unknown
		e, err := openEnvelope(append(bytes.Clone(magic), data...))
		if err != nil || want.Unmarshal(data) != nil {
			return
		}
		if string(e.kind) != want.Kind || string(e.apiVersion) != want.APIVersion || !bytes.Equal(e.raw, want.Raw) {
			t.Fatalf("%x: %q of %q, %x, and by generated code %+v", data, e.kind, e.apiVersion, e.raw, want)
		}
		if item := (Format{}).Kind(e.raw, true); len(item) > 0 && !bytes.HasPrefix(e.raw, magic) {
			t.Fatalf("%x: an item without an envelope is of kind %q", data, item)
		}
	})
}
