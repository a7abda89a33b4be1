package informer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		if got := r.Status(); got.State != reflector.Stopped || got.Synced {
			t.Errorf("before Run the status is %+v", got)
		}
		r.start()
		if got := r.Status(); got.State != reflector.Watching || !got.Synced || got.ResourceVersion != "2" {
			t.Errorf("the status is %+v, want watching from 2", got)
		}
	})
}

// gate is an index function at which the consumer stops when it is shut.
type gate struct{ shut chan struct{} }

func (g *gate) index() store.Indexers[*thing] {
	return store.Indexers[*thing]{"gate": func(*thing) []string {
		if g.shut != nil {
			<-g.shut
		}
		return nil
	}}
}

// WaitForVersion returns when the store has the version: not when the queue has it, nor only when
// the handlers have.
func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		f := newFake("a", "b")
		r := newRig(t, f, informer.Options[*thing]{Indexers: g.index()})
		release := make(chan struct{})
		slow := diary{hold: func(string) { <-release }}
		r.add(slow.handler())
		r.start()

		waited := inBackground(func() error { return r.WaitForVersion(t.Context(), "5") })
		f.set("a", 1)
		f.set("b", 1)
		synctest.Wait()
		if len(waited) > 0 {
			t.Fatal("WaitForVersion returned at version 4, want 5")
		}
		g.shut = make(chan struct{})
		f.set("c", 1)
		synctest.Wait()
		if got := r.Status().ResourceVersion; got != "5" {
			t.Fatalf("the reflector is at %s, want 5", got)
		}
		if len(waited) > 0 {
			t.Fatal("WaitForVersion returned before the store has c")
		}
		close(g.shut)
		if err := <-waited; err != nil {
			t.Error(err)
		}
		if _, ok := r.Store().Get("c"); !ok || r.Store().ResourceVersion() != "5" {
			t.Errorf("WaitForVersion returned, and the store is at %s", r.Store().ResourceVersion())
		}
		if err := r.WaitForVersion(t.Context(), "3"); err != nil { // of the past
			t.Error(err)
		}
		if err := r.WaitForVersion(t.Context(), "new"); err == nil {
			t.Error("WaitForVersion takes a version that is none")
		}
		close(release)
	})
}

// A deletion moves no object's version, and is waited for all the same.
func TestWaitForDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		r := newRig(t, f, informer.Options[*thing]{})
		r.start()
		f.Remove("a") // at version 3
		must.OK(t, r.WaitForVersion(t.Context(), "3"))
		if _, ok := r.Store().Get("a"); ok {
			t.Error("the store holds a")
		}
		if got := r.Store().ResourceVersion(); got != "3" {
			t.Errorf("the store is at %s, want 3", got)
		}
	})
}

// Relist returns when the store has a list that began after the call.
func TestRelist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		f := newFake("a", "b")
		r := newRig(t, f, informer.Options[*thing]{Indexers: g.index()})
		var d diary
		r.add(d.handler())
		r.start()
		d.expect(t, "add a=0 initial; add b=0 initial")
		f.Corrupt("a", &thing{Value: 7}) // no event tells of it
		g.shut = make(chan struct{})
		listed := inBackground(func() error { return r.Relist(t.Context()) })
		synctest.Wait()
		if len(listed) > 0 {
			t.Fatal("Relist returned before the store has the list")
		}
		if f.Lists() != 2 {
			t.Errorf("%d lists, want 2", f.Lists())
		}
		close(g.shut)
		if err := <-listed; err != nil {
			t.Error(err)
		}
		if obj, _ := r.Store().Get("a"); obj.Value != 7 {
			t.Errorf("the store holds a=%d, want 7", obj.Value)
		}
		d.expect(t, "update a=0->7")
	})
}

// Who waits is told that the context has ended, or that the informer has: before the call, or
// during it.
func TestWaitEnds(t *testing.T) {
	calls := []struct {
		name string
		wait func(context.Context, *informer.Informer[*thing]) error
	}{
		{"WaitForVersion", func(ctx context.Context, in *informer.Informer[*thing]) error { return in.WaitForVersion(ctx, "1000") }},
		{"WaitForVersion what is queued", func(ctx context.Context, in *informer.Informer[*thing]) error { return in.WaitForVersion(ctx, "3") }},
		{"Relist", func(ctx context.Context, in *informer.Informer[*thing]) error { return in.Relist(ctx) }},
	}
	for _, call := range calls {
		t.Run(call.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gate{}
				f := newFake("a", "b")
				r := newRig(t, f, informer.Options[*thing]{Indexers: g.index()})
				r.start()
				g.shut = make(chan struct{})
				f.set("a", 1) // at version 3; the consumer is at it
				synctest.Wait()

				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := call.wait(ctx, r.Informer); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("at the end of its context it returned %v", err)
				}
				waited := inBackground(func() error { return call.wait(t.Context(), r.Informer) })
				synctest.Wait()
				r.stop()
				close(g.shut)
				if err := <-waited; err != nil && !errors.Is(err, informer.ErrStopped) || err == nil && call.name == "Relist" {
					t.Errorf("at the end of Run it returned %v, want %v", err, informer.ErrStopped)
				}
				synctest.Wait()
				if err := call.wait(t.Context(), r.Informer); !errors.Is(err, informer.ErrStopped) {
					t.Errorf("after the end of Run it returned %v, want %v", err, informer.ErrStopped)
				}
			})
		})
	}
}

func inBackground(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

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

// A ListWatcher need not be comparable, although package controller compares what it gets.
func TestPartsAreComparable(t *testing.T) {
	lw := struct {
		*fake
		labels []string
	}{newFake(), nil}
	if in := informer.New(lw, informer.Options[*thing]{}); in.Parts()[0] != in.Parts()[0] {
		t.Error("one informer is two")
	}
}
