package clientgo

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// A server is what the informers are tried against.
type server struct {
	config *rest.Config
	faults []fault // to be done in this order, each while writers are at work
}

// A fault is something that goes wrong. do does it, and sets it right again.
type fault struct {
	name string
	do   func(t *testing.T, w *world)
}

// apitestServer is our own server, with the faults that it has switches for.
func apitestServer(t *testing.T) server {
	s := apitest.New(apitest.Options{BookmarkPeriod: bookmarkPeriod})
	listener, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return server{
		config: &rest.Config{Host: listener.URL},
		faults: []fault{
			{"cut in mid-frame", func(_ *testing.T, _ *world) { s.CutWatches(1000) }},
			{"reset", func(_ *testing.T, _ *world) { s.Cut(apitest.Cut{Reset: true}) }},
			{"orderly end", func(_ *testing.T, _ *world) { s.EndWatches() }},
			{"go away", func(_ *testing.T, _ *world) { s.GoAway(5) }},
			{"stall", func(t *testing.T, w *world) {
				s.Stall()
				w.someWrites(t)
				must(t, s.Resume())
			}},
			{"expired, with deletions unseen", func(t *testing.T, w *world) {
				syncs := w.requests.syncs()
				must(t, s.Refuse(0))
				for _, key := range w.reserved() {
					if _, err := s.Delete("configmaps", key.namespace, key.name); err != nil {
						t.Error(err)
					}
				}
				s.Compact()
				must(t, s.Resume())
				w.requests.await(t, "a full sync", func() bool { return w.requests.syncs() > syncs })
			}},
			{"a replica that is behind", func(t *testing.T, w *world) {
				behind := s.Replica("behind")
				behind.Freeze()
				w.someWrites(t)
				tooLarge := w.requests.tooLarge()
				s.Route(behind)
				// A watch from its future just waits there; the 410 has the client ask for the whole state.
				if err := s.FailNext(apitest.Failure{Verb: "watch", Count: 2, Status: 410, InStream: true}); err != nil {
					t.Error(err)
				}
				s.CutWatches(0)
				w.requests.await(t, "Too large resource version", func() bool { return w.requests.tooLarge() > tooLarge })
				s.Route(s.Replica(""))
				behind.Unfreeze()
				s.CutWatches(0)
			}},
		},
	}
}

// realServer is kube-apiserver, with the faults that can be done to a process.
func realServer(t *testing.T) server {
	c := cluster.New(t, cluster.Options{})
	restart := func(t *testing.T, w *world, meanwhile func()) {
		syncs := w.requests.syncs()
		must(t, c.KillAPIServer())
		meanwhile()
		must(t, c.StartAPIServer(t.Context()))
		w.requests.await(t, "a full sync", func() bool { return w.requests.syncs() > syncs })
	}
	return server{
		config: &rest.Config{
			Host:            c.Access().URL,
			BearerToken:     c.Access().AdminToken,
			TLSClientConfig: rest.TLSClientConfig{CAFile: c.Access().CAFile},
		},
		faults: []fault{
			{"compaction, unnoticed behind the watch cache", func(t *testing.T, _ *world) {
				if _, err := c.Compact(t.Context(), 0); err != nil {
					t.Error(err)
				}
			}},
			{"killed, with deletions unseen", func(t *testing.T, w *world) {
				restart(t, w, func() {
					for _, key := range w.reserved() {
						must(t, c.DeleteStored(t.Context(), "configmaps", key.namespace, key.name))
					}
				})
			}},
		},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
