package listwatch

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
)

// A transform runs once for each object as the object arrives. If it keeps little of
// each object, the memory in use during a list depends on what the transform keeps, and
// not on what the server sent. https://github.com/kubernetes/kubernetes/pull/131799
func TestTransformRunsBeforeObjectsAreKept(t *testing.T) {
	calls, most := 0, 0
	resource := mustNew(t, serve(t, serveMany), Options[*configMap]{Transform: func(c *configMap) (*configMap, error) {
		if calls++; calls%500 == 0 {
			most = max(most, liveHeap())
		}
		slim := &configMap{}
		slim.Namespace, slim.Name, slim.UID, slim.ResourceVersion = c.Namespace, c.Name, c.UID, c.ResourceVersion
		return slim, nil
	}})
	before := liveHeap()
	page, err := resource.List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	if calls != manyObjects || len(page.Items) != manyObjects {
		t.Errorf("the transform ran %d times for %d objects, want %d for each", calls, len(page.Items), manyObjects)
	}
	const bound = manyObjects*objectBytes/4 + 1<<20 // structs of a few hundred bytes; a quarter of what was sent
	if grown := most - before; grown > bound {
		t.Errorf("on the way %d bytes were live, want at most %d", grown, bound)
	}
}
