package outages

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/test/conformance/line"
	"github.com/relist-go/relist/transport"
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

// TestRestoredBackupWithin: a backup is restored behind a connection that is refused, and
// behind a stream that ended in good order and a request that had to wait, as a proxy may
// have it. Ten writes are lost with that. Other objects are written to before the mirror is
// back: a few, and the restored server is behind the resume point; or many, and it has
// passed that, so that nothing which the watch brings tells that anything was lost. The
// newest things that the copy holds do.
func TestRestoredBackupWithin(t *testing.T) {
	t.Parallel()
	const (
		lost   = 10
		within = 20 * time.Second // 5 s for the watch, 8 for two answers, and what the machine takes
	)
	c := cluster.New(t, cluster.Options{})
	w := newWorld(t, c, configMaps)
	kept, removed, busy := names("kept", lost), names("removed", lost), names("busy", 30)
	w.do("create", kept...)
	w.do("create", removed...)
	w.do("create", busy...)
	backup := filepath.Join(t.TempDir(), "backup")
	withoutServer(t, c, func() { must(t, c.SaveEtcd(backup)) })
	restore := func() { withoutServer(t, c, func() { must(t, c.RestoreEtcd(backup)) }) }

	for _, behind := range []string{"a refused connection", "an orderly end"} {
		for _, since := range []int{3, 30} {
			t.Run(fmt.Sprintf("%s, %d writes since", behind, since), func(t *testing.T) {
				w := w.of(t)
				defer restore()
				server, err := c.Access().HTTPClient()
				must(t, err)
				t.Cleanup(server.CloseIdleConnections)
				between := line.New(server.Transport)
				r := followOver[*metav1.PartialObjectMetadata](t, transport.Config{
					Server: c.Access().URL, BearerToken: c.Access().AdminToken, RoundTripper: between,
				}, configMaps, reflector.Options{})
				for i, name := range names("lost", lost) {
					switch i % 3 {
					case 0:
						w.do("update", kept[i])
					case 1:
						w.do("delete", removed[i])
					case 2:
						w.do("create", name)
					}
				}
				r.converge(w)
				resume := r.source.Status().ResourceVersion

				orderly := behind == "an orderly end"
				if orderly {
					between.CloseWatches()
				}
				restore()
				began := time.Now()
				w.do("update", busy[:since]...)
				restored := w.version()
				if passed, err := resourceversion.CompareResourceVersion(restored, resume); err != nil || (passed > 0) != (since > lost) {
					t.Errorf("the restored server is at %s, and the copy at %s: this shows nothing (%v)", restored, resume, err)
				}
				between.Resume()
				r.converge(w)
				took := time.Since(began)
				t.Logf("the copy was at %s, and the server at %s; %.1f s after that was there, the copy was as it is", resume, restored, took.Seconds())
				if took > within {
					t.Errorf("the copy was not what the server had for %v, want less than %v", took, within)
				}
				history, _ := r.steps()
				if n := count(history, "relist", "rolledBack"); n != 1 || count(history, "relist", "") != n {
					t.Errorf("%d relists, %d of them because the server went back; want one, for that", count(history, "relist", ""), n)
				}
				if n := count(history, "backoff", "unreachable"); orderly != (n == 0) {
					t.Errorf("the server was unreachable %d times behind %s", n, behind)
				}
				w.do("update", kept...)
				r.converge(w)
			})
		}
	}
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
