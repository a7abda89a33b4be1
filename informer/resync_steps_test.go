package informer

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Every key comes once in a period, spread over it, and the first period has none.
func TestResyncDue(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, n := range []int{0, 1, 3, 100, 1234} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var keys []string
			for i := range n {
				keys = append(keys, fmt.Sprintf("%05d", i))
			}
			r := newResync(time.Minute, begin)
			for period := range 3 {
				var got []string
				wakes, most := 0, 0
				for end := begin.Add(time.Duration(period+1) * time.Minute); !r.at().After(end); wakes++ {
					due := r.due(r.at(), func() []string { return keys })
					most = max(most, len(due))
					got = append(got, due...)
				}
				want := keys
				if period == 0 {
					want = nil
				}
				if !slices.Equal(got, want) {
					t.Errorf("period %d gave %d keys, want %d", period, len(got), len(want))
				}
				if wakes > maxSteps || most > n/maxSteps+1 {
					t.Errorf("period %d took %d wakes, at most %d keys at once", period, wakes, most)
				}
			}
		})
	}
}

// Missed periods are not made up for.
func TestResyncAfterSleep(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	keys := func() []string { return []string{"a", "b"} }
	r := newResync(time.Minute, begin)
	if got := r.due(begin.Add(time.Minute), keys); len(got) != 0 {
		t.Fatalf("the first period gave %q", got)
	}
	now := begin.Add(24 * time.Hour)
	if got := r.due(now, keys); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("after a day %q are due, want a and b once", got)
	}
	if got := r.at(); !got.After(now) {
		t.Errorf("the next step is at %v, in the past", got)
	}
}

func TestResyncOff(t *testing.T) {
	for _, period := range []time.Duration{0, -1} {
		if newResync(period, time.Time{}) != nil {
			t.Errorf("period %v gave a resync", period)
		}
	}
}
