package outages

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// TestRestartWithEmptyWindow: the API server is killed, objects vanish from storage where
// nobody sees it, and the next process knows only what is there. The watch is refused,
// and one list says all that happened.
func TestRestartWithEmptyWindow(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	w := newWorld(t, c, configMaps)
	w.do("create", names("stays", 300)...)
	gone := names("vanishes", 50)
	w.do("create", gone...)
	r := follow[*metav1.PartialObjectMetadata](t, c, c.Access().AdminToken, configMaps, reflector.Options{})
	r.converge(w)

	must(t, c.KillAPIServer())
	for _, name := range gone {
		must(t, c.DeleteStored(context.WithoutCancel(t.Context()), "configmaps", metav1.NamespaceDefault, name))
	}
	must(t, c.StartAPIServer(t.Context()))
	w.do("update", names("stays", 100)...)
	w.do("create", names("new", 100)...)
	r.converge(w)

	history, _ := r.steps()
	if n := count(history, "relist", "expired"); n != 1 || count(history, "relist", "") != n {
		t.Errorf("%d relists, %d of them because of a 410; want one, for that", count(history, "relist", ""), n)
	}
	all, inferred := deletions(history)
	for _, name := range gone {
		if inferred[key(name)] != 1 {
			t.Errorf("%s vanished unseen, and came as %d inferred deletions; want 1", name, inferred[key(name)])
		}
	}
	if len(all) != len(gone) {
		t.Errorf("%d objects were deleted, want %d", len(all), len(gone))
	}
}
