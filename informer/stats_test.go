package informer_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/informer"
)

// TestStats: what waits is counted where it waits, before the store and before each handler.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		f := newFake("a", "b", "c")
		r := newRig(t, f, informer.Options[*thing]{})
		check := func(want informer.Stats) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, r.Stats()); diff != "" {
				t.Errorf("stats differ (-want +got):\n%s", diff)
			}
		}
		early := r.add(informer.Handler[*thing]{Name: "early"})
		slow := r.add(informer.Handler[*thing]{Name: "slow", OnAdd: func(*thing, bool) { <-gate }})
		quick := r.add(informer.Handler[*thing]{})
		early.Cancel()
		check(informer.Stats{Handlers: []informer.HandlerStats{{Name: "slow"}, {}}})

		observing := make(chan struct{})
		if _, err := r.Observe("slow", func(c informer.Change[*thing]) {
			if c.Key == "b" {
				<-observing
			}
		}); err != nil {
			t.Fatal(err)
		}
		r.start()
		check(informer.Stats{Objects: 2, Queued: 1, Handlers: []informer.HandlerStats{{Name: "slow"}, {}}})
		close(observing)
		check(informer.Stats{Objects: 3, Handlers: []informer.HandlerStats{{Name: "slow", Pending: 2}, {}}})

		quick.Cancel()
		check(informer.Stats{Objects: 3, Handlers: []informer.HandlerStats{{Name: "slow", Pending: 2}}})
		close(gate)
		check(informer.Stats{Objects: 3, Handlers: []informer.HandlerStats{{Name: "slow"}}})

		r.stop()
		<-slow.Done()
		check(informer.Stats{Objects: 3})
	})
}
