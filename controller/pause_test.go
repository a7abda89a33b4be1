package controller_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/controller"
)

// fail has the worker of a key fail, and returns the delay.
func fail(t *testing.T, q *controller.Queue[string], key string) time.Duration {
	t.Helper()
	if got := get(t, q); got != key {
		t.Fatalf("got %q, want %q", got, key)
	}
	defer q.Done(key)
	return q.Retry(key, 0)
}

func TestPausesGrow(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		q.Add("a")
		var pauses []string
		for range 17 {
			before := time.Now()
			pause := fail(t, q, "a")
			pauses = append(pauses, pause.String())
			get(t, q)
			if waited := time.Since(before); waited != pause {
				t.Errorf("a came after %s, and its delay was %s", waited, pause)
			}
			q.Done("a")
			q.Add("a")
			later(time.Second) // no change comes sooner than that after a failure
		}
		want := "5ms 10ms 20ms 40ms 80ms 160ms 320ms 640ms 1.28s 2.56s 5.12s 10.24s 20.48s 40.96s 1m21.92s 2m30s 2m30s"
		if got := strings.Join(pauses, " "); got != want {
			t.Errorf("delays\n\t%s, want\n\t%s", got, want)
		}
		if n := q.Failures("a"); n != 17 {
			t.Errorf("%d failures, want 17", n)
		}
		q.Forget("a")
		if pause := fail(t, q, "a"); pause != 5*time.Millisecond {
			t.Errorf("the delay after Forget is %s", pause)
		}
	})
}

func TestPausesHaveJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nearlyOne = 0.999999
		q := controller.NewQueue[string](controller.QueueOptions{
			BackoffBase: time.Second, BackoffCap: 3 * time.Second, Rand: func() float64 { return nearlyOne },
		})
		defer q.Close()
		q.Add("a")
		for _, atLeast := range []time.Duration{1, 2, 3, 3} {
			pause, value := fail(t, q, "a"), atLeast*time.Second
			if pause < value+value*9/10 || pause >= 2*value {
				t.Errorf("the delay is %s, want nearly twice %s", pause, value)
			}
		}
	})
}

func TestNoPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := controller.NewQueue[string](controller.QueueOptions{BackoffBase: -1})
		defer q.Close()
		q.Add("a")
		began := time.Now()
		for range 100 {
			fail(t, q, "a")
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("100 failures took %s", took)
		}
	})
}

// A change ends a delay, but no sooner than a second after the failure.
func TestChangeDuringPause(t *testing.T) {
	failed := func(t *testing.T, q *controller.Queue[string]) { // a delay of 10.24 s has begun
		q.Add("a")
		for range 12 {
			fail(t, q, "a")
		}
	}
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		failed(t, q)
		later(5 * time.Second)
		expect(t, q, "")
		q.Add("a")
		expect(t, q, "a")
	})
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		failed(t, q)
		q.Add("a")
		q.AddAfter("a", time.Millisecond)
		later(time.Second - 1)
		expect(t, q, "")
		later(1)
		expect(t, q, "a")
		q.Done("a")
		later(time.Minute)
		expect(t, q, "") // the delay is over
	})
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) { // the change comes before the failure is reported
		failed(t, q)
		later(time.Minute)
		expect(t, q, "a")
		q.Add("a")
		if pause := q.Retry("a", 0); pause != time.Second {
			t.Errorf("Retry returned %s", pause)
		}
		q.Done("a")
		later(time.Second - 1)
		expect(t, q, "")
		later(1)
		expect(t, q, "a")
	})
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) { // short delays are not made longer
		q.Add("a")
		fail(t, q, "a")
		q.Add("a")
		later(5 * time.Millisecond)
		expect(t, q, "a")
	})
}

func TestRetryAtLeast(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		q.Add("a")
		expect(t, q, "a")
		q.AddAfter("a", time.Second)
		if pause := q.Retry("a", time.Minute); pause != time.Minute+5*time.Millisecond {
			t.Errorf("Retry returned %s", pause)
		}
		q.Done("a")
		q.Add("a")
		later(time.Minute)
		expect(t, q, "")
		later(5 * time.Millisecond)
		expect(t, q, "a")
	})
}

// After Forget nothing is left of a failure but the time that the key waits for, which a change
// ends.
func TestForgetWhileItWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, q *controller.Queue[string]) {
		q.Add("a")
		expect(t, q, "a")
		q.Retry("a", time.Minute)
		q.Forget("a")
		q.Done("a")
		if n := q.Failures("a"); n != 0 {
			t.Errorf("%d failures after Forget", n)
		}
		expect(t, q, "")
		q.Add("a")
		expect(t, q, "a")
	})
}

// However long the times are that a program gives, no sum of them is short: a key waits for all of
// atLeast, and for a delay that does not shrink from failure to failure.
func TestVeryLongPauses(t *testing.T) {
	const longest, year, century = time.Duration(math.MaxInt64), 365 * 24 * time.Hour, 100 * 365 * 24 * time.Hour
	check := func(t *testing.T, opts controller.QueueOptions, atLeast time.Duration) {
		q := controller.NewQueue[string](opts)
		defer q.Close()
		q.Add("a")
		for before := time.Duration(0); ; {
			expect(t, q, "a")
			pause := q.Retry("a", atLeast)
			q.Done("a")
			if pause < max(atLeast, before, min(opts.BackoffBase, year)) {
				t.Fatalf("failure %d: the delay is %s, and was %s", q.Failures("a"), pause, before)
			}
			later(min(pause, century) - 1)
			expect(t, q, "")
			if pause == before || pause > century {
				return
			}
			later(1)
			before = pause
		}
	}
	for _, base := range []time.Duration{1, time.Hour, longest/2 + 1, longest} {
		for _, backoffCap := range []time.Duration{1, longest/2 + 1, longest} {
			for _, atLeast := range []time.Duration{math.MinInt64, 0, longest / 2, longest - 1, longest} {
				for _, dice := range []float64{0, 1 - 0x1p-53} {
					t.Run(fmt.Sprint(base, " ", backoffCap, " ", atLeast, " ", dice), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							check(t, controller.QueueOptions{BackoffBase: base, BackoffCap: backoffCap, Rand: func() float64 { return dice }}, atLeast)
						})
					})
				}
			}
		}
	}
}
