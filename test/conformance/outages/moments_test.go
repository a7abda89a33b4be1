package outages

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
)

// TestRestoredAtTenMoments: etcd is restored from a backup ten times, each time after random
// writes, and at a random moment of the copy's watch. The newest thing that the copy knows is an
// update that the backup lacks. Other writes follow, so that the versions may or may not pass the
// one that the copy knows.
//
// Every second time, the API server is started again as well, and the copy has to become what the
// server has. The other times only etcd is restored. kube-apiserver does not notice that, and lists
// what it has cached, so the copy cannot be right before somebody starts the API server again,
// which follows once the copy has said that this is needed. Until then the copy must not list
// without end. It can find that out only if it asks the storage, so it has just listed: the cache
// would repeat the last events as they were.
func TestRestoredAtTenMoments(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	c := cluster.New(t, cluster.Options{})
	w := newWorld(t, c, configMaps)
	marks, busy := names("mark", 10), names("busy", 30)
	w.do("create", marks...)
	w.do("create", busy...)

	server, err := c.Access().HTTPClient()
	must.OK(t, err)
	t.Cleanup(server.CloseIdleConnections)
	between := &line{next: server.Transport}
	r := followOver(t, transport.Config{
		Server: c.Access().URL, BearerToken: c.Access().AdminToken, RoundTripper: between,
	}, configMaps, listwatch.Options[*metav1.PartialObjectMetadata]{}, reflector.Options{})

	for i, mark := range marks {
		restart := i%2 == 0
		t.Run(fmt.Sprintf("%d, API server started again: %t", i, restart), func(t *testing.T) {
			w := w.of(t)
			backup := filepath.Join(t.TempDir(), "backup")
			withoutEtcd(t, c, func() { must.OK(t, c.SaveEtcd(backup)) })
			w.do("update", some(random, busy)...)
			w.do("create", fmt.Sprintf("lost-%d", i))
			w.do("update", mark)
			known := w.version()
			r.await("the update of "+mark, func([]step) bool { return r.held()[key(mark)] == w.state()[key(mark)] })
			if !restart {
				must.OK(t, r.source.Relist(t.Context()))
			}
			// Any moment is good once the watch has been open for 10 s: the backoff of the copy
			// starts afresh then, and does not grow from one backup to the next.
			<-time.After(10*time.Second + time.Duration(random.IntN(2000))*time.Millisecond)
			before, _ := r.steps()

			if restart {
				withoutServer(t, c, func() { must.OK(t, c.RestoreEtcd(backup)) })
			} else {
				withoutEtcd(t, c, func() { must.OK(t, c.RestoreEtcd(backup)) })
				between.closeWatches() // the copy's watch ends, and it asks what there is
				r.await("that the API server has to be started again", func(all []step) bool {
					return slices.ContainsFunc(all[len(before):], func(s step) bool {
						return s.kind == "problem" && strings.Contains(s.err.Error(), "lists something else than its storage has: restart it")
					})
				})
				withoutServer(t, c, func() {})
			}
			for range random.IntN(4) {
				w.do("update", some(random, busy)...)
			}
			r.converge(w)
			after, _ := r.steps()
			lists := count(after[len(before):], "list", "")
			t.Logf("the copy knew %s, the server is at %s; %d lists", known, w.version(), lists)
			if lists == 0 || lists > 10 {
				t.Errorf("%d lists after one restored backup, want 1 to 10", lists)
			}
		})
	}
}

// some returns a few of names, at random.
func some(random *rand.Rand, names []string) []string {
	var chosen []string
	for _, i := range random.Perm(len(names))[:random.IntN(len(names))] {
		chosen = append(chosen, names[i])
	}
	return chosen
}

// withoutEtcd does something while etcd does not run. The API server stays up.
func withoutEtcd(t *testing.T, c *cluster.Cluster, do func()) {
	t.Helper()
	must.OK(t, c.StopEtcd())
	do()
	must.OK(t, c.StartEtcd(t.Context()))
}

// withoutServer does something while neither the API server nor etcd runs.
func withoutServer(t *testing.T, c *cluster.Cluster, do func()) {
	t.Helper()
	must.OK(t, c.KillAPIServer())
	must.OK(t, c.StopEtcd())
	do()
	must.OK(t, c.StartEtcd(t.Context()))
	must.OK(t, c.StartAPIServer(t.Context()))
}
