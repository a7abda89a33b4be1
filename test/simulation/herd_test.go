//go:build !race

package simulation

// The race detector dies of thousands of goroutines in a bubble that start at the same
// instant: https://github.com/golang/go/issues/78156. `make test` runs this without it.

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// herd is something that many reflectors do to one server together, or one reflector does
// in a long time.
type herd struct {
	what string
	most int
	unit string // of the counts

	// times is by which the number of seeds is divided: a crowd is a sample by itself.
	times int

	// count returns what is bounded by most, for one seed.
	count func(t *testing.T, seed uint64) int
}

// herds are all that is measured, in the order of the page.
var herds = []herd{
	{
		what: "after an outage, 1,000 reflectors: their lists in one second", unit: " %", most: 20, times: 10,
		count: func(t *testing.T, seed uint64) int {
			lists := times(afterOutage(t, seed, "list"))
			if len(lists) < crowdSize {
				t.Errorf("%d lists after the outage, want one of each of %d at least", len(lists), crowdSize)
			}
			return (100*busiest(lists, time.Second) + len(lists) - 1) / len(lists)
		},
	},
	{
		what: "the same: how many of them do not begin with a watch", most: 0, times: 10,
		count: func(t *testing.T, seed uint64) (others int) {
			seen := map[int]bool{}
			for _, a := range afterOutage(t, seed, "") {
				if !seen[a.who] && a.verb != "watch" {
					others++
				}
				seen[a.who] = true
			}
			return others
		},
	},
	{
		what: "one idle reflector, no bookmarks: watches opened again in an hour", most: 11, times: 1,
		count: func(t *testing.T, seed uint64) int { return reopened(t, seed, newFleet(seed, 1, 0)) },
	},
	{
		what: "the same, and the server never ends a watch", most: 11, times: 1,
		count: func(t *testing.T, seed uint64) int {
			f := newFleet(seed, 1, 0)
			f.endless = true
			return reopened(t, seed, f)
		},
	},
	{
		what: "5,000 idle reflectors that began together, no bookmarks: watches opened again in one second", most: 200, times: 20,
		count: func(t *testing.T, seed uint64) int { return reopenedTogether(t, seed, newFleet(seed, 1, 0)) },
	},
	{
		what: "the same, with bookmarks", most: 200, times: 20,
		count: func(t *testing.T, seed uint64) int {
			return reopenedTogether(t, seed, newFleet(seed, 1, time.Minute))
		},
	},
}

const crowdSize = 1000

// afterOutage returns what a crowd asks once its server is back, which has forgotten what was
// before.
func afterOutage(t *testing.T, seed uint64, verb string) []asking {
	f := newFleet(seed, 1, 0)
	f.gather(t, seed, crowdSize)
	<-time.After(between(f.rand, 15*time.Second, time.Minute))
	f.leave(f.servers[0])
	<-time.After(time.Minute)
	writeOwn(f)
	f.comeBack(f.servers[0])
	back := time.Now()
	<-time.After(2 * time.Minute)
	synctest.Wait()
	return f.heard(verb, back)
}

// times returns when requests came.
func times(asked []asking) (at []request) {
	for _, a := range asked {
		at = append(at, request{at: a.at, verb: a.verb})
	}
	return at
}

// reopened returns how often one reflector opens its watch again in the worst of 6 hours.
func reopened(t *testing.T, seed uint64, f *fleet) int {
	f.gather(t, seed, 1)
	<-time.After(6 * time.Hour)
	synctest.Wait()
	opened := times(f.heard("watch", time.Time{}))
	if len(opened) < 6 {
		t.Errorf("%d watches in 6 hours show nothing", len(opened))
	}
	return busiest(opened[1:], time.Hour)
}

// reopenedTogether returns how many watches of a crowd are opened again in the worst
// second of a quarter of an hour.
func reopenedTogether(t *testing.T, seed uint64, f *fleet) int {
	const size = 5000
	f.gather(t, seed, size)
	<-time.After(15 * time.Minute)
	synctest.Wait()
	opened := times(f.heard("watch", time.Time{}))
	if len(opened) < 2*size {
		t.Errorf("%d watches of %d reflectors show nothing", len(opened), size)
	}
	return busiest(opened[size:], time.Second)
}

// Reflectors do not come together, and one with nothing to hear is quiet.
func TestHerd(t *testing.T) {
	t.Parallel()
	worst := make([]int, len(herds))
	done := make([]bool, len(herds))
	table := newTable("herd", "what", "at most", "promised")
	t.Cleanup(func() {
		for i, h := range herds {
			if done[i] {
				table.row(h.what, fmt.Sprint(worst[i], h.unit), fmt.Sprint(h.most, h.unit))
			}
		}
		table.show(t, len(herds))
	})
	for i, h := range herds {
		t.Run(h.what, func(t *testing.T) {
			t.Parallel()
			measureSome(t, h.times, func(t *testing.T, seed uint64) {
				got := h.count(t, seed)
				worst[i], done[i] = max(worst[i], got), true
				if got > h.most {
					t.Errorf("%d%s, want %d%s at most: -seed=%d", got, h.unit, h.most, h.unit, seed)
				}
			})
		})
	}
}

// measureSome is measure with fewer seeds, though with one at least.
func measureSome(t *testing.T, fewer int, run func(t *testing.T, seed uint64)) {
	t.Helper()
	all := *trials
	measureSeeds(t, max(1, all/fewer), run)
}
