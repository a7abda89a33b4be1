package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/controller"
)

func TestErrorsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		broken := errors.New("broken")
		r := run(t, 0, returning(0, broken), controller.For(cache(f)))
		later(14 * time.Millisecond)
		r.expect("a a") // at 0 and 5 ms; then at 15 ms
		if got := r.last(); got.Key != "a" || got.Failures != 2 || got.Next != 10*time.Millisecond || !errors.Is(got.Err, broken) {
			t.Errorf("told %+v", got)
		}
		later(time.Millisecond)
		r.expect("a")
		if n := r.queue.Stats().Failing; n != 1 {
			t.Errorf("%d keys fail", n)
		}
		r.becomes(nil)
		later(time.Minute)
		r.expect("a")
		if n := r.queue.Stats().Failing; n != 0 {
			t.Errorf("%d keys fail after a success", n)
		}
	})
}

// After a Retry-After of the API server, the key waits for that time, and then for its delay.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		busy := apierrors.NewTooManyRequests("busy", 30)
		r := run(t, 0, returning(0, busy), controller.For(cache(f)))
		r.expect("a")
		if got := r.last().Next; got != 30*time.Second+5*time.Millisecond {
			t.Errorf("again after %s", got)
		}
		f.set("a", func(*thing) {})
		later(30 * time.Second)
		r.expect("")
		r.becomes(returning(time.Minute, busy))
		later(5 * time.Millisecond)
		r.expect("a")
		if got := r.last().Next; got != time.Minute+10*time.Millisecond {
			t.Errorf("again after %s", got)
		}
		r.becomes(returning(0, apierrors.NewTooManyRequests("busy", 1_000_000)))
		later(time.Minute + 10*time.Millisecond)
		r.expect("a")
		if got := r.last().Next; got != time.Hour+20*time.Millisecond {
			t.Errorf("again after %s", got)
		}
	})
}

func TestPanicsAreErrors(t *testing.T) {
	cause := errors.New("cause")
	for name, bad := range map[string]func(){
		"panic":   func() { panic(cause) },
		"runtime": func() { clear([]int{}[len(cause.Error()):]) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("a")
				r := run(t, 1, func(context.Context, string) (time.Duration, error) { bad(); return 0, nil }, controller.For(cache(f)))
				r.expect("a")
				var panicked *controller.PanicError
				if got := r.last(); !errors.As(got.Err, &panicked) || panicked.Key != "a" || got.Failures != 1 {
					t.Fatalf("told %+v", got)
				}
				if name == "panic" && !errors.Is(panicked, cause) {
					t.Errorf("%v does not wrap its value", panicked)
				}
				log := r.logged()
				if !strings.Contains(log, "level=ERROR") || !strings.Contains(log, `controller: reconcile \"a\": panic: `) {
					t.Errorf("logged %s", log)
				}
				if !strings.Contains(log, "run_test.go") {
					t.Errorf("logged no stack: %s", log)
				}
				r.becomes(nil)
				later(5 * time.Millisecond)
				r.expect("a")
				if err := r.last().Err; err != nil {
					t.Errorf("told of %v", err)
				}
			})
		})
	}
}
