package outages

import (
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// TestRestoredBackup: etcd is restored from a backup taken 1,100 writes before, and
// other writes follow, with numbers that the copy has seen on others. The server does not
// say so: it opens the watch at a version of the future and waits in silence.
// The copy has to find out, drop what is no more, and hold one generation only.
//
// Beside the watch it asks for the newest thing that it has seen, which is too old twice.
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
	if n := count(history, "problem", "version"); n != 2 {
		t.Errorf("that the server went back was reported %d times, want twice: by the answers, and by the list", n)
	}
	if n := count(history, "relist", "rolledBack"); n != 1 || count(history, "relist", "") != n {
		t.Errorf("%d relists, %d of them because the server went back; want one, for that", count(history, "relist", ""), n)
	}
	// The sink has a list a moment before Status tells of it.
	poll(t, "a resume point behind "+before+", as this server is", func() bool {
		now := r.source.Status().ResourceVersion
		return len(now) < len(before) || len(now) == len(before) && now < before
	})
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
