package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/controller"
)

// lines returns the lines of the log since the last time, without their time.
func (r *rig) lines() string {
	synctest.Wait()
	var all strings.Builder
	for line := range strings.Lines(r.logged()) {
		_, line, _ = strings.Cut(line, " ")
		all.WriteString(line)
	}
	return all.String()
}

func (r *rig) expectLines(want ...string) {
	r.t.Helper()
	if got, want := r.lines(), strings.Join(append(want, ""), "\n"); got != want {
		r.t.Errorf("logged\n%swant\n%s", got, want)
	}
}

// A key that fails for hours has a line when it begins to fail, one for each further reason, and
// one when it is over.
func TestFailingKeyIsLoggedOnceForEachState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		attempt := 0
		r := run(t, 0, func(context.Context, string) (time.Duration, error) {
			attempt++
			return 0, fmt.Errorf("attempt %d: broken", attempt)
		}, controller.For(cache(f)))
		r.expectLines(`level=WARN msg="relist: reconcile failed" key=a error="attempt 1: broken" failures=1 next=5ms`)
		later(time.Hour)
		r.expectLines()
		if attempt < 20 {
			t.Errorf("%d attempts in an hour", attempt)
		}

		r.becomes(returning(0, apierrors.NewForbidden(schema.GroupResource{Resource: "shops"}, "a", errors.New("no role"))))
		later(time.Hour)
		r.expectLines(fmt.Sprintf(`level=WARN msg="relist: reconcile failed" key=a error="shops \"a\" is forbidden: no role" failures=%d next=2m30s for=1h0m13.835s`, attempt+1))

		r.becomes(returning(0, errors.New("broken again")))
		later(time.Hour)
		r.expectLines() // as it began

		failures := r.last().Failures
		r.becomes(nil)
		later(time.Hour)
		r.expectLines(fmt.Sprintf(`level=WARN msg="relist: reconcile recovered" key=a after=3h0m13.835s failures=%d`, failures))

		r.becomes(returning(0, errors.New("broken")))
		f.set("a", func(*thing) {})
		r.expectLines(`level=WARN msg="relist: reconcile failed" key=a error=broken failures=1 next=5ms`)
	})
}

// A cache that is a moment behind causes a few writes that are refused, which are no problem. Ten
// in succession are one.
func TestOldStatesAreLoggedIfTheyLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conflict := apierrors.NewConflict(schema.GroupResource{Resource: "shops"}, "a", errors.New("old"))
		f := newFake("a")
		r := run(t, 0, returning(0, conflict), controller.For(cache(f)))
		later(2 * time.Second)
		r.becomes(nil)
		later(time.Minute)
		r.expectLines()
		shops := schema.GroupResource{Resource: "shops"}
		for _, err := range []error{conflict, apierrors.NewAlreadyExists(shops, "a"), apierrors.NewNotFound(shops, "a")} {
			r.becomes(returning(0, err))
			f.set("a", func(*thing) {})
			later(4 * time.Second)
			if got := r.lines(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `level=WARN msg="relist: reconcile failed" key=a error="`) || !strings.Contains(got, " failures=10 ") {
				t.Errorf("logged %s", got)
			}
			r.becomes(nil)
			later(time.Minute)
			if got := r.lines(); !strings.Contains(got, `msg="relist: reconcile recovered"`) {
				t.Errorf("logged %s", got)
			}
		}
	})
}

// The attempts between are at Debug.
func TestAttemptsAreLoggedAtDebug(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, 0, returning(0, errors.New("broken")), controller.For(cache(newFake("a"))))
		r.level.Set(slog.LevelDebug)
		r.logged()
		later(5 * time.Millisecond)
		r.expectLines(`level=DEBUG msg="relist: reconcile failed" key=a error=broken failures=2 next=10ms for=5ms`)
	})
}

// If a thousand keys fail at once, ten a minute are named. A key that continues failing is named
// some time, and one that was not named has no line when it is over.
func TestManyFailingKeysAreNamedByAndBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		for i := range 25 {
			f.set(fmt.Sprintf("k%02d", i), func(*thing) {})
		}
		r := run(t, 1, returning(0, errors.New("broken")), controller.For(cache(f)))
		named := func(first, last int, more bool) {
			t.Helper()
			got := r.lines()
			for i := range 25 {
				if has := strings.Contains(got, fmt.Sprintf("key=k%02d ", i)); has != (i >= first && i <= last) {
					t.Errorf("key k%02d is named: %t", i, has)
				}
			}
			if n := strings.Count(got, `level=WARN msg="relist: reconcile failed for more keys"`); (n == 1) != more || n > 1 {
				t.Errorf("%d lines about more keys in\n%s", n, got)
			}
		}
		named(0, 9, true)
		later(59 * time.Second)
		r.expectLines()
		r.becomes(func(_ context.Context, key string) (time.Duration, error) {
			if key < "k13" {
				return 0, nil
			}
			return 0, errors.New("broken")
		})
		later(4 * time.Minute)
		got := r.lines()
		for i := range 25 {
			key := fmt.Sprintf("key=k%02d ", i)
			recovered := strings.Contains(got, `msg="relist: reconcile recovered" `+key)
			failed := strings.Contains(got, `msg="relist: reconcile failed" `+key)
			if recovered != (i <= 9) || failed != (i >= 13) {
				t.Errorf("k%02d: recovered %t, failed %t", i, recovered, failed)
			}
		}
	})
}

// A panic has a line with its stack, once.
func TestPanicIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, 1, func(context.Context, string) (time.Duration, error) { panic("oh") }, controller.For(cache(newFake("a"))))
		later(time.Hour)
		if got := r.lines(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `level=ERROR msg="relist: reconcile panicked" key=a `) {
			t.Errorf("logged %s", got)
		}
	})
}
