package informer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
)

// told is an observer that writes down what it is told.
func told(d *diary) func(informer.Change[*thing]) {
	return func(c informer.Change[*thing]) {
		old, now := "none", "none"
		if c.Existed {
			old = fmt.Sprint(c.Old.Value)
		}
		if c.Exists {
			now = fmt.Sprint(c.New.Value)
		}
		d.write(fmt.Sprintf("%s %s->%s%s", c.Key, old, now, when(c.Initial, " initial")))
	}
}

func (r *rig) observe(observe func(informer.Change[*thing])) *informer.Registration {
	r.t.Helper()
	registration, err := r.Observe("test", observe)
	if err != nil {
		r.t.Fatal(err)
	}
	return registration
}

func TestObserverIsToldOfEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		var d, late diary
		reg := r.observe(told(&d))
		if reg.HasSynced() {
			t.Error("synced before Run")
		}
		r.start()
		d.expect(t, "a none->0 initial")
		if !reg.HasSynced() {
			t.Error("not synced after the first list")
		}
		r.fake.set("b", 1)
		d.expect(t, "b none->1")
		r.fake.set("b", 2)
		d.expect(t, "b 1->2")
		r.fake.Remove("b")
		d.expect(t, "b 2->none")

		// Nobody sees that a goes and comes back as another object.
		r.fake.Gap(func() { r.fake.Remove("a"); r.fake.set("a", 3) })
		later(time.Minute)
		d.expect(t, "a 0->none; a none->3")

		again := r.observe(told(&late))
		late.expect(t, "a none->3 initial")
		if !again.HasSynced() {
			t.Error("an observer that came late has not synced")
		}
	})
}

// A handler that is busy hears nothing of an object that came and went. Its store had the object,
// and an observer is told.
func TestObserverHearsWhatHandlersMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		free := make(chan struct{})
		slow := diary{hold: func(string) { <-free }}
		r.add(slow.handler())
		var d diary
		r.observe(func(c informer.Change[*thing]) {
			if _, there := r.Store().Get(c.Key); there != c.Exists {
				t.Errorf("told that %s exists: %v, and the store says %v", c.Key, c.Exists, there)
			}
			told(&d)(c)
		})
		r.start()
		r.fake.set("b", 1)
		synctest.Wait()
		r.fake.Remove("b")
		d.expect(t, "a none->0 initial; b none->1; b 1->none")
		close(free)
		slow.expect(t, "add a=0 initial")
	})
}

// An observer that cancels itself is told nothing more, also of what came together with the change.
func TestObserverCancelsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		var d diary
		var self *informer.Registration
		self = r.observe(func(c informer.Change[*thing]) {
			told(&d)(c)
			if !c.Exists {
				self.RemoveAsync()
			}
		})
		r.start()
		r.fake.Gap(func() { r.fake.Remove("a"); r.fake.set("a", 3) })
		later(time.Minute)
		d.expect(t, "a none->0 initial; a 0->none")
	})
}

// An observer that is removed before it was told of every object never syncs, whoever removes it.
func TestRemovedObserverNeverSyncs(t *testing.T) {
	for _, late := range []bool{false, true} { // added before Run, or after the first list
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, newFake("a", "b"), informer.Options[*thing]{})
			var self, other *informer.Registration
			join := func() {
				self = r.observe(func(informer.Change[*thing]) { self.RemoveAsync(); other.RemoveAsync() })
				other = r.observe(func(informer.Change[*thing]) { t.Error("a removed observer was told") })
			}
			if !late {
				join()
				r.start()
			} else {
				r.observe(func(c informer.Change[*thing]) {
					if c.Key == "c" {
						join()
					}
				})
				r.start()
				r.fake.set("c", 1)
			}
			later(time.Minute)
			if self.HasSynced() || other.HasSynced() || !closed(self.Done()) || !closed(other.Done()) {
				t.Errorf("late %v: synced: %v and %v, ended: %v and %v", late, self.HasSynced(), other.HasSynced(), closed(self.Done()), closed(other.Done()))
			}
		})
	}
}
