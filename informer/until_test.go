package informer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/informer"
)

func TestWaitUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("shop/tea", "shop/coffee")
		r := newRig(t, f, informer.Options[*thing]{})
		var saw []int
		result := make(chan error, 1)
		wait := func(key string, holds func(*thing, bool) bool) {
			go func() { result <- r.WaitUntil(t.Context(), key, holds) }()
			synctest.Wait()
		}
		waits := func() bool { synctest.Wait(); return len(result) == 0 }

		wait("shop/tea", func(obj *thing, exists bool) bool { saw = append(saw, obj.Value); return exists && obj.Value == 3 })
		if saw != nil || !waits() {
			t.Fatalf("before the first list it saw %v", saw)
		}
		r.start()
		for _, value := range []int{1, 3} {
			f.set("shop/coffee", 9) // another key
			f.set("shop/tea", value)
			synctest.Wait()
		}
		if err := <-result; err != nil || !slices.Equal(saw, []int{0, 1, 3}) {
			t.Errorf("WaitUntil returned %v and saw %v, want 0, 1 and 3", err, saw)
		}

		gone := func(_ *thing, exists bool) bool { return !exists }
		wait("shop/tea", gone)
		if !waits() {
			t.Error("it is there, and WaitUntil did not wait")
		}
		f.Remove("shop/tea")
		if err := <-result; err != nil {
			t.Error(err)
		}
		wait("shop/tea", gone) // is so already
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitUntilEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newFake("a"), informer.Options[*thing]{})
		r.start()
		never := func(*thing, bool) bool { return false }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.WaitUntil(ctx, "a", never); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitUntil returned %v, want that its time is over", err)
		}
		result := make(chan error, 1)
		go func() { result <- r.WaitUntil(t.Context(), "a", never) }()
		synctest.Wait()
		r.stop()
		if err := <-result; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("WaitUntil returned %v, want ErrStopped", err)
		}
	})
}

func TestFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		f.set("b", 10)
		r := newRig(t, f, informer.Options[*thing]{})
		var d diary
		h := d.handler()
		h.Filter = func(obj *thing) bool { return obj.Value >= 10 }
		r.add(h)
		var twice diary // the same filter for another handler
		second := twice.handler()
		second.Filter = h.Filter
		r.add(second)
		r.start()
		d.expect(t, "add b=10 initial")
		twice.expect(t, "add b=10 initial")

		f.set("a", 1)
		d.expect(t, "")
		f.set("a", 11)
		d.expect(t, "add a=11")
		f.set("a", 12)
		d.expect(t, "update a=11->12")
		f.set("a", 2)
		d.expect(t, "delete a=12")
		f.set("a", 3)
		f.Remove("a")
		d.expect(t, "")

		f.Gap(func() { f.Remove("b") })
		later(time.Minute)
		d.expect(t, "delete b=10 inferred")
		f.set("b", 20)
		d.expect(t, "add b=20")
		f.Gap(func() { f.Remove("b"); f.set("b", 5) }) // another object, which does not pass
		later(time.Minute)
		d.expect(t, "delete b=20 inferred")
	})
}
