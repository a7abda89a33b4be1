package micro

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// partial is what both queues and both stores hold here.
type partial = *metav1.PartialObjectMetadata

// makeObjects returns n objects in the order of their keys, in 100 namespaces, each with one of 50 labels.
func makeObjects(n int) []partial {
	objects := make([]partial, n)
	for i := range objects {
		objects[i] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace:       fmt.Sprintf("team-%02d", i*100/n),
			Name:            fmt.Sprintf("app-%03d-6d4cf56db9-%06d", i*1000/n, i),
			UID:             types.UID(fmt.Sprintf("3e8e484f-9ee1-4cb6-a13d-%012d", i)),
			ResourceVersion: fmt.Sprint(1_000_000 + i),
			Labels:          map[string]string{"node": fmt.Sprintf("node-%02d", i%50)},
		}}
	}
	return objects
}
