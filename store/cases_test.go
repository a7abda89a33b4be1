package store_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// testObject is what the tests put into a store.
type testObject struct {
	metav1.ObjectMeta
	Colors []string // what the index "color" has it under
}

// newObject makes an object. Its UID is "uid-" and the name.
func newObject(namespace, name, resourceVersion string, colors ...string) *testObject {
	return &testObject{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: resourceVersion,
		},
		Colors: colors,
	}
}

// byColor is the index function that the tests use.
func byColor(obj *testObject) []string { return obj.Colors }
