package informer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
)

// hungRig is a MultiNamespace. The requests of its namespace slow hang until they are freed.
func hungRig(t *testing.T, s *town, free chan struct{}) *multiRig {
	t.Helper()
	s.in("slow").Asked = func(ctx context.Context, _ string) error {
		select {
		case <-free:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return newMultiRig(t, s, informer.Options[*thing]{})
}

// A namespace whose first list hangs can be removed, and added again, any number of times. Nobody
// waits for a list that nobody wants.
func TestMultiRemovesANamespaceWhoseListHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		r := hungRig(t, newTown("a/x", "slow/x"), free)
		var d diary
		reg := r.handle(d.handler())
		r.begin("a", "slow")
		r.start()
		d.expect(t, "add a/x=0 initial")
		waited := make(chan error, 1)
		go func() { waited <- r.WaitForSync(t.Context()) }()
		waitedFor := make(chan error, 1)
		go func() { waitedFor <- r.WaitForVersion(t.Context(), "slow", "1") }()
		synctest.Wait()
		if reg.HasSynced() || r.HasSynced() {
			t.Error("synced")
		}
		// Removed and added several times while its first list hangs.
		for range 3 {
			r.drop("slow")
			r.begin("slow")
		}
		if err := <-waited; err != nil {
			t.Error(err)
		}
		if err := <-waitedFor; err == nil {
			t.Error("WaitForVersion returned nil")
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 3 {
			if err := r.Remove(ended, "slow"); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			r.begin("slow")
		}
		synctest.Wait()
		if !reg.HasSynced() || r.HasSynced() {
			t.Errorf("synced: the handler %v, want true, as the namespace was away for a while; the store %v, want false", reg.HasSynced(), r.HasSynced())
		}
		close(free)
		d.expect(t, "add slow/x=0 initial")
		if !r.HasSynced() {
			t.Error("not synced")
		}
		r.agree("a", "slow")
		r.drop("slow")
		d.expect(t, "delete slow/x=0 inferred")
		r.halt()
		if err := <-r.done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}

// Stop and a Remove at the same time: neither waits for a list that hangs, and handlers are told
// what the store had.
func TestMultiStopsWhileAListHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := hungRig(t, newTown("a/x", "slow/x"), make(chan struct{}))
		d := diary{hold: func(string) { <-time.After(time.Second) }}
		r.handle(d.handler())
		r.begin("a", "slow")
		r.start()
		removed := make(chan error, 1)
		go func() { removed <- r.Remove(t.Context(), "slow") }()
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-removed; err != nil && !errors.Is(err, informer.ErrStopped) {
			t.Errorf("Remove returned %v", err)
		}
		if err := <-r.done; err != nil {
			t.Errorf("Run returned %v", err)
		}
		d.expect(t, "add a/x=0 initial")
	})
}
