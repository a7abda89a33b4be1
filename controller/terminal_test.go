package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/controller"
)

// A Terminal error is not retried, whatever it wraps. A change brings the key back, after the pause
// of a change that comes right after a failure, and so does the call's own after.
func TestTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		conflict := apierrors.NewConflict(schema.GroupResource{Resource: "shops"}, "a", errors.New("taken"))
		busy := apierrors.NewTooManyRequests("busy", 30)
		r := run(t, 0, returning(0, errors.New("away")), controller.For(cache(f)))
		r.expect("a")
		r.expectLines(`level=WARN msg="relist: reconcile failed" key=a error=away failures=1 next=5ms`)
		r.becomes(returning(0, fmt.Errorf("price: %w", controller.Terminal(conflict))))
		later(24 * time.Hour)
		r.expect("a")
		text := `Operation cannot be fulfilled on shops \"a\": taken`
		r.expectLines(`level=WARN msg="relist: reconcile failed" key=a error="price: ` + text + `" failures=2 next=0s for=5ms`)
		if got := r.last(); got.Next != 0 || got.Failures != 2 || !errors.Is(got.Err, conflict) || !apierrors.IsConflict(got.Err) {
			t.Errorf("told %+v", got)
		}
		if s := r.queue.Stats(); s.Failing != 1 || s.Delayed != 0 || s.Retries != 2 {
			t.Errorf("%+v", s)
		}
		f.set("a", func(*thing) {})
		r.expect("a")
		r.expectLines()
		f.set("a", func(*thing) {}) // as if Reconcile had written it
		r.expect("")
		later(20 * time.Millisecond)
		r.expect("a")

		r.becomes(returning(time.Minute, controller.Terminal(busy)))
		later(time.Minute)
		f.set("a", func(*thing) {})
		r.expect("a")
		if got := r.last(); got.Next != time.Minute {
			t.Errorf("told %+v", got)
		}
		r.expectLines()
		later(30 * time.Second)
		f.set("a", func(*thing) {})
		r.expect("a")
		later(time.Minute)
		r.expect("a")

		r.becomes(returning(0, controller.Terminal(nil)))
		later(time.Minute)
		r.expect("a")
		r.expectLines(`level=WARN msg="relist: reconcile recovered" key=a after=24h3m30.02s failures=7`)
		if s := r.queue.Stats(); s.Failing != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A key that changed while it failed is tried again, and then a failure that is not Terminal is
// retried as the others.
func TestTerminalOfAnOldState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, 0, nil, controller.For(cache(newFake())))
		r.becomes(func(_ context.Context, key string) (time.Duration, error) {
			r.queue.Add(key)
			r.becomes(returning(0, errors.New("new")))
			return 0, controller.Terminal(errors.New("old"))
		})
		r.queue.Add("a")
		r.expect("a")
		later(5 * time.Millisecond)
		r.expect("a")
		later(10 * time.Millisecond)
		r.expect("a")
	})
}
