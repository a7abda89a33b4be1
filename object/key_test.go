package object_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/object"
)

// The types that people bring are objects as they are.
var (
	_ object.Object = (*metav1.PartialObjectMetadata)(nil)
	_ object.Object = (*unstructured.Unstructured)(nil)
	_ object.Object = (*embedded)(nil)
)

// embedded is as the types of k8s.io/api are.
type embedded struct{ metav1.ObjectMeta }

func named(namespace, name string) *embedded {
	return &embedded{metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestKey(t *testing.T) {
	for _, test := range []struct{ namespace, name, key string }{
		{"ns", "name", "ns/name"},
		{"", "name", "name"},
		{"", "system:node", "system:node"},
	} {
		obj := named(test.namespace, test.name)
		if got := object.Key(obj); got != test.key {
			t.Errorf("Key(%q, %q) = %q, want %q", test.namespace, test.name, got, test.key)
		}
		if got, err := object.KeyOf(obj); err != nil || got != test.key {
			t.Errorf("KeyOf(%q, %q) = %q, %v; want %q", test.namespace, test.name, got, err, test.key)
		}
		if got := string(object.AppendKey([]byte("> "), test.namespace, test.name)); got != "> "+test.key {
			t.Errorf("AppendKey(%q, %q) = %q, want %q behind what was there", test.namespace, test.name, got, test.key)
		}
		namespace, name, err := object.SplitKey(test.key)
		if err != nil || namespace != test.namespace || name != test.name {
			t.Errorf("SplitKey(%q) = %q, %q, %v", test.key, namespace, name, err)
		}
	}
	for _, key := range []string{"", "/", "/name", "ns/", "a/b/c"} {
		if namespace, name, err := object.SplitKey(key); err == nil {
			t.Errorf("SplitKey(%q) = %q, %q; want an error", key, namespace, name)
		}
	}
}

func FuzzSplitKey(f *testing.F) {
	f.Add("ns/name")
	f.Add("name")
	f.Add("a/b/c")
	f.Fuzz(func(t *testing.T, key string) {
		namespace, name, err := object.SplitKey(key)
		if err == nil && object.Key(named(namespace, name)) != key {
			t.Errorf("SplitKey(%q) = %q, %q, which is another key", key, namespace, name)
		}
	})
}
