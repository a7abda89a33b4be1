package listwatch

import (
	"reflect"

	"github.com/relist-go/relist/listwatch/internal/intern"
	"github.com/relist-go/relist/listwatch/internal/tree"
)

// isUnstructured reports whether typ is *unstructured.Unstructured. It goes by the
// name: a program that has the type itself in it is 40 KB larger, and most have no use
// for it.
func isUnstructured(typ reflect.Type) bool {
	if typ.Kind() != reflect.Pointer {
		return false
	}
	typ = typ.Elem()
	return typ.Name() == "Unstructured" && typ.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
}

// holder is what is asked of *unstructured.Unstructured.
type holder interface {
	SetUnstructuredContent(content map[string]any)
}

// newUnstructured returns a function that decodes the JSON of an object into maps, with
// the values that apimachinery's own decoder would put there. With share, equal subtrees
// of different objects are one in memory.
func newUnstructured(typ reflect.Type, share bool) func(object []byte, into any) error {
	decoders := intern.Pool[tree.Decoder]{New: func() *tree.Decoder { return new(tree.Decoder) }}
	return func(object []byte, into any) error {
		decoder := decoders.Get()
		content, err := decoder.Decode(object, share)
		decoders.Put(decoder)
		if err != nil {
			return err
		}
		made := reflect.New(typ.Elem())
		made.Interface().(holder).SetUnstructuredContent(content)
		reflect.ValueOf(into).Elem().Set(made)
		return nil
	}
}
