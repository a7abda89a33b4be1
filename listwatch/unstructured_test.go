package listwatch

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// shared is used by all tests, so that what they decode comes out of its memory, too.
var shared = newUnstructured(reflect.TypeFor[*unstructured.Unstructured](), true)

func decodeUnstructured(data []byte) (u *unstructured.Unstructured, err error) {
	err = shared(data, &u)
	return u, err
}
