package informer_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/reflector"
)

// TestStats: what waits is counted where it waits, before the store and before each handler.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		f := newFake("a", "b", "c")
		var r *rig
		ask := func() { r.Stats() } // wherever a program may ask, it is answered
		r = newRig(t, f, informer.Options[*thing]{Reflector: reflector.Options{Trace: &reflector.Trace{
			ListDone: func(reflector.ListDone) { ask() }, Synced: ask, Event: func(reflector.Event) { ask() }, WatchOpen: ask,
		}}})
		check := func(want informer.Stats) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, r.Stats()); diff != "" {
				t.Errorf("stats differ (-want +got):\n%s", diff)
			}
		}
		early := r.add(informer.Handler[*thing]{Name: "early"})
		slow := r.add(informer.Handler[*thing]{Name: "slow", OnAdd: func(*thing, bool) { <-gate }})
		quick := r.add(informer.Handler[*thing]{OnAdd: func(*thing, bool) { ask() }})
		early.RemoveAsync()
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

		f.set("c", 1)
		synctest.Wait()
		quick.RemoveAsync()
		check(informer.Stats{Objects: 3, Handlers: []informer.HandlerStats{{Name: "slow", Pending: 2}}})
		close(gate)
		check(informer.Stats{Objects: 3, Handlers: []informer.HandlerStats{{Name: "slow"}}})

		r.stop()
		<-slow.Done()
		check(informer.Stats{Objects: 3})
	})
}
