package outages

import (
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/conformance/cluster"
	"github.com/relist-go/relist/reflector"
)

// TestRestoredBackup: etcd is restored from a backup taken 1,100 writes before, and
// other writes follow, with numbers that the copy has seen on others. The server does not
// say so: it opens the watch at a version of the future and waits in silence.
// The copy has to find out, drop what is no more, and hold one generation only.
//
// It asks after the outage at which version the server is.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	w := newWorld(t, c, configMaps)
	kept, undone, lost := names("kept", 100), names("deletion-undone", 50), names("lost", 150)
	w.do("create", kept...)
	w.do("create", undone...)
	backup := filepath.Join(t.TempDir(), "backup")
	withoutServer(t, c, func() { must(t, c.SaveEtcd(backup)) })

	r := follow[*metav1.PartialObjectMetadata](t, c, c.Access().AdminToken, configMaps, reflector.Options{})
	for range 9 {
		w.do("update", kept...)
	}
	w.do("delete", undone...)
	w.do("create", lost...)
	r.converge(w)
	before := r.source.Status().ResourceVersion

	withoutServer(t, c, func() { must(t, c.RestoreEtcd(backup)) })
	after := names("after", 50)
	w.do("update", kept[:50]...)
	w.do("create", after...)
	r.converge(w)

	history, _ := r.steps()
	if n := count(history, "problem", "version"); n != 1 {
		t.Errorf("that the server went back was reported %d times, want once", n)
	}
	if now := r.source.Status().ResourceVersion; len(now) > len(before) || len(now) == len(before) && now >= before {
		t.Errorf("the resume point is %s and was %s: this server is behind that", now, before)
	}
	all, inferred := deletions(history)
	for _, name := range lost {
		if inferred[key(name)] != 1 {
			t.Errorf("%s is not in the backup, and came as %d inferred deletions; want 1", name, inferred[key(name)])
		}
	}
	if want := len(lost) + len(undone); len(all) != want {
		t.Errorf("%d objects were deleted, want %d", len(all), want)
	}

	// The new generation is followed live.
	w.do("update", kept...)
	w.do("delete", after...)
	r.converge(w)
}

// withoutServer does something while neither the API server nor etcd runs.
func withoutServer(t *testing.T, c *cluster.Cluster, do func()) {
	t.Helper()
	must(t, c.KillAPIServer())
	must(t, c.StopEtcd())
	do()
	must(t, c.StartEtcd(t.Context()))
	must(t, c.StartAPIServer(t.Context()))
}
