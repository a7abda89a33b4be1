package informer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/store"
)

// A handler that does not return delays nobody, and what waits for it is as much as there are
// objects, and not as much as happened to them.
func TestSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		release := make(chan struct{})
		slow := diary{hold: func(string) { <-release }}
		reg := r.add(slow.handler())
		var updates int
		r.add(informer.Handler[*thing]{OnUpdate: func(*thing, *thing) { updates++ }})
		r.start()
		for i := range 500 {
			r.fake.set("a", i+1)
			r.fake.set("b", i+1)
			name := fmt.Sprint("short-lived-", i)
			r.fake.set(name, 0)
			r.fake.Remove(name)
			synctest.Wait()
		}
		if updates != 1000 {
			t.Errorf("the fast handler was told of %d updates, want 1000", updates)
		}
		r.agree()
		if got := reg.Pending(); got != 2 || reg.HasSynced() {
			t.Errorf("%d objects wait for the slow handler, synced %v; want 2, false", got, reg.HasSynced())
		}
		close(release)
		slow.expect(t, "add a=0 initial; add b=500 initial; update a=0->500")
		if reg.Pending() != 0 || !reg.HasSynced() {
			t.Errorf("in the end %d objects wait, synced %v", reg.Pending(), reg.HasSynced())
		}
	})
}

// Each handler has its own synced: once its last initial OnAdd has returned.
func TestHandlerSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		step := make(chan struct{})
		early := diary{hold: func(string) { <-step }}
		first := r.add(early.handler())
		r.start()
		late := diary{hold: func(string) { <-step }}
		second := r.add(late.handler())
		synctest.Wait()
		if !r.HasSynced() {
			t.Fatal("the store has not synced")
		}
		for range 4 {
			if first.HasSynced() && second.HasSynced() {
				t.Fatal("synced before the last initial OnAdd has returned")
			}
			step <- struct{}{}
			synctest.Wait()
		}
		if !first.HasSynced() || !second.HasSynced() {
			t.Fatal("not synced")
		}
		early.expect(t, "add a=0 initial; add b=0 initial")
		late.expect(t, "add a=0 initial; add b=0 initial")
	})
}

// A handler that comes late is told of what there is, then of what happens.
func TestLateHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		r.start()
		r.fake.set("b", 1)
		r.fake.Remove("a")
		r.fake.set("c", 1)
		synctest.Wait()
		var d diary
		r.add(d.handler())
		d.expect(t, "add b=1 initial; add c=1 initial")
		r.fake.set("b", 2)
		r.fake.set("d", 2)
		d.expect(t, "update b=1->2; add d=2")
	})
}

// A handler that comes while the first list is being taken in has synced when that list has been.
func TestHandlerInTheMiddleOfTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		var d diary
		var reg *informer.Registration
		// An index function runs on the consumer's goroutine: here, when a has been taken in and b
		// has not.
		index := func(obj *thing) []string {
			if obj.Name == "b" && reg == nil {
				reg = r.add(d.handler())
			}
			return nil
		}
		r = newRig(t, newFake("a", "b", "c"), informer.Options[*thing]{Indexers: store.Indexers[*thing]{"x": index}})
		r.start()
		d.expect(t, "add a=0 initial; add b=0 initial; add c=0 initial")
		if !reg.HasSynced() {
			t.Error("not synced")
		}
	})
}

func TestRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		release := make(chan struct{})
		d := diary{hold: func(string) { <-release }}
		reg := r.add(d.handler())
		var other diary
		r.add(other.handler())
		r.start()
		removed := make(chan struct{})
		go func() { _ = reg.Remove(t.Context()); close(removed) }()
		synctest.Wait()
		if closed(removed) {
			t.Fatal("Remove returned while a callback was being called")
		}
		close(release)
		<-removed
		d.expect(t, "add a=0 initial") // b was dropped
		r.fake.set("a", 1)
		d.expect(t, "")
		other.expect(t, "add a=0 initial; add b=0 initial; update a=0->1")
		if err := reg.Remove(t.Context()); err != nil { // again
			t.Error(err)
		}
		if reg.HasSynced() || reg.Pending() != 0 {
			t.Errorf("removed, but synced is %v and %d objects wait", reg.HasSynced(), reg.Pending())
		}
	})
}

// Remove waits as long as its context says, and the handler is removed all the same.
func TestRemoveWaitsForItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		release := make(chan struct{})
		d := diary{hold: func(string) { <-release }}
		reg := r.add(d.handler())
		r.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := reg.Remove(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Remove returned %v while a callback is being called", err)
		}
		close(release)
		d.expect(t, "add a=0 initial")
		if err := reg.Remove(ctx); err != nil {
			t.Errorf("Remove of a handler that is done returned %v", err)
		}
	})
}

// A callback may remove its own handler, and two may remove each other.
func TestCancelFromCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
		var d diary
		var self, one, two *informer.Registration
		h := d.handler()
		add := h.OnAdd
		h.OnAdd = func(obj *thing, initial bool) {
			add(obj, initial)
			self.RemoveAsync()
			self.RemoveAsync()
		}
		self = r.add(h)
		var both sync.WaitGroup
		both.Add(2)
		meet := func(other **informer.Registration) informer.Handler[*thing] {
			return informer.Handler[*thing]{OnAdd: onNamed("a", func() {
				both.Done()
				both.Wait() // now each of them is in its callback
				(*other).RemoveAsync()
			})}
		}
		one, two = r.add(meet(&two)), r.add(meet(&one))
		r.start()
		d.expect(t, "add a=0 initial")
		for _, reg := range []*informer.Registration{self, one, two} {
			if !closed(reg.Done()) {
				t.Error("a removed handler is not done")
			}
		}
	})
}

// OnDelete may remove the handler, which then hears nothing of the re-creation.
func TestCancelBetweenDeleteAndAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		var d diary
		var reg *informer.Registration
		h := d.handler()
		remove := h.OnDelete
		h.OnDelete = func(obj *thing, inferred bool) { remove(obj, inferred); reg.RemoveAsync() }
		reg = r.add(h)
		r.start()
		r.fake.Gap(func() { r.fake.Remove("a"); r.fake.set("a", 1) })
		later(time.Minute)
		d.expect(t, "add a=0 initial; delete a=0 inferred")
	})
}

// A callback may add handlers, read the store, and stop the informer.
func TestCallbackUsesInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		var d diary
		r.add(informer.Handler[*thing]{
			OnAdd:    func(*thing, bool) { r.add(d.handler()) },
			OnDelete: func(*thing, bool) { r.stop() },
		})
		r.start()
		d.expect(t, "add a=0 initial")
		r.fake.Remove("a")
		if err := <-r.done; err == nil {
			t.Error("Run returned nil")
		}
		r.done <- context.Canceled
	})
}

// 20,000 updates of one object, for a handler that takes a second for each call, are a few calls
// and one pending change, and no other handler waits. What is deleted and made again stays two
// things.
func TestSlowHandlerCostsKeysNotEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const updates = 20_000
		f := newFake("a")
		r := newRig(t, f, informer.Options[*thing]{})
		calls, most := 0, 0
		slow := diary{hold: func(string) {
			calls++
			<-time.After(time.Second)
		}}
		reg := r.add(slow.handler())
		fast := 0
		r.add(informer.Handler[*thing]{OnUpdate: func(_, obj *thing) { fast = obj.Value }})
		r.start()
		for i := range updates {
			f.set("a", i+1)
			synctest.Wait()
			most = max(most, reg.Pending())
			if fast != i+1 {
				t.Fatalf("after update %d the fast handler was at %d", i+1, fast)
			}
			if i%2000 == 0 {
				<-time.After(time.Second)
			}
		}
		f.Remove("a")
		f.set("a", 1)
		later(time.Minute)
		if most > 1 || calls > 20 {
			t.Errorf("up to %d changes were pending, and there were %d calls", most, calls)
		}
		if got, want := slow.take(), fmt.Sprintf("delete a=%d; add a=1", updates); !strings.HasSuffix(got, want) {
			t.Errorf("the slow handler was told %s, want %s in the end", got, want)
		}
	})
}

// A callback may wait for the store, have it listed again, add handlers, read, and remove itself;
// and one that waits for what will never be does not keep Run from ending.
func TestCallbacksMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		r := newRig(t, f, informer.Options[*thing]{})
		var d diary
		var reg *informer.Registration
		reg = r.add(informer.Handler[*thing]{
			OnUpdate: func(_, obj *thing) {
				err := errors.Join(r.WaitForVersion(t.Context(), obj.ResourceVersion), r.Relist(t.Context()))
				if err != nil {
					t.Error(err)
				}
				r.add(d.handler())
				_ = r.Store().List()
				reg.RemoveAsync()
			},
		})
		var forever error
		r.add(informer.Handler[*thing]{OnDelete: func(*thing, bool) { forever = r.WaitForVersion(t.Context(), "1000") }})
		r.start()
		f.set("a", 1)
		d.expect(t, "add a=1 initial")
		f.Remove("a")
		d.expect(t, "delete a=1")
		r.stop()
		synctest.Wait()
		if len(r.done) != 1 || !errors.Is(forever, informer.ErrStopped) {
			t.Errorf("Run has returned: %v; the callback was told %v", len(r.done) == 1, forever)
		}
	})
}
