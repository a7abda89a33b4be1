package listwatch

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/listwatch/format"
)

// shared is used by all tests, so they also decode from values that it has shared.
var shared, errShared = JSON.Unmarshaler(reflect.TypeFor[*unstructured.Unstructured](), format.Options{ShareParts: true})

func decodeUnstructured(data []byte) (u *unstructured.Unstructured, err error) {
	if errShared != nil {
		return nil, errShared
	}
	err = shared(data, &u)
	return u, err
}
