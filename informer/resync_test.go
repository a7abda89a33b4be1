package informer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
)

// An object with a pending change, or whose callback is being called, is not offered again; a
// change that comes after the offer takes its place.
func TestResyncOfPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a", "b", "c"), informer.Options[*thing]{})
		release := make(chan struct{})
		d := diary{hold: func(line string) {
			if line == "update a=0->1" {
				<-release
			}
		}}
		h := d.handler()
		h.Resync = time.Minute
		reg := r.add(h)
		r.start()
		d.expect(t, "add a=0 initial; add b=0 initial; add c=0 initial")
		r.fake.set("a", 1)
		r.fake.set("b", 1)
		later(5 * time.Minute)
		if reg.Pending() != 2 {
			t.Errorf("%d objects wait, want b, which changed, and c, which is offered", reg.Pending())
		}
		r.fake.set("c", 1)
		synctest.Wait()
		close(release)
		d.expect(t, "update a=0->1; update b=0->1; update c=0->1")
	})
}

// A handler that is removed leaves no timer behind that would offer anything to anyone.
func TestResyncEndsWithHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		var d diary
		h := d.handler()
		h.Resync = time.Minute
		reg := r.add(h)
		r.start()
		later(2 * time.Minute)
		d.expect(t, "add a=0 initial; update a=0->0")
		reg.RemoveAsync()
		later(time.Hour)
		d.expect(t, "")
	})
}

// A resync is off unless it is asked for. It is spread over its period, leaves out what has a
// change pending, and a handler that did not ask for it gets none.
func TestResyncIsSpreadAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects, periods = 1000, 3
		f := newFake()
		for i := range objects {
			f.set(fmt.Sprint("pod-", i), 0)
		}
		r := newRig(t, f, informer.Options[*thing]{})
		began := time.Now()
		perSecond := map[int]int{}
		r.add(informer.Handler[*thing]{
			Resync:   time.Minute,
			OnUpdate: func(*thing, *thing) { perSecond[int(time.Since(began)/time.Second)]++ },
		})
		others := 0
		r.add(informer.Handler[*thing]{OnUpdate: func(*thing, *thing) { others++ }})
		r.start()
		later((periods + 1) * time.Minute)
		total := 0
		for second, n := range perSecond {
			total += n
			if n > 2*objects/60 || second < 60 {
				t.Errorf("%d objects in second %d", n, second)
			}
		}
		if total != periods*objects || others != 0 {
			t.Errorf("%d offers, and %d to the other; want %d, 0", total, others, periods*objects)
		}
	})
}
