package listwatch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/listwatch/internal/intern"
	"github.com/relist-go/relist/listwatch/internal/tree"
)

// newUnstructured returns a function that decodes the JSON of an object into maps, with
// the values that apimachinery's own decoder would put there. With share, equal subtrees
// of different objects are one in memory.
func newUnstructured(share bool) func(object []byte, into any) error {
	decoders := intern.Pool[tree.Decoder]{New: func() *tree.Decoder { return new(tree.Decoder) }}
	return func(object []byte, into any) error {
		decoder := decoders.Get()
		content, err := decoder.Decode(object, share)
		decoders.Put(decoder)
		if err != nil {
			return err
		}
		*into.(**unstructured.Unstructured) = &unstructured.Unstructured{Object: content}
		return nil
	}
}
