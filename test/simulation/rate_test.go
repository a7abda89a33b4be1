package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// What the documentation says of the pace: docs/states.md and protocol/pause.go.
const (
	firstPause = 800 * time.Millisecond
	lastPause  = 30 * time.Second
	healthy    = 10 * time.Second
)

// cost is what the server is asked for at most, when and why.
type cost struct {
	afterPause int // once a pause is over
	afterLife  int // once a watch has ended that lived as long as a healthy one
	rarely     int // no more than once in a minute, whatever else there is
}

var (
	// A pause is followed by a list at the resume point, which is refused, one of the
	// most recent state, and a watch. Pages count for nothing here, nor does the one time
	// that a list is begun again because its continue token has expired. A healthy watch
	// is opened again, and if the next is short, so is that. Rarely: the probe after three silent minutes, and two more
	// requests when initial events are refused, once an hour.
	allRequests = cost{afterPause: 3, afterLife: 2, rarely: 3}
	watchesOnly = cost{afterPause: 1, afterLife: 2, rarely: 2}
)

// most returns how many requests the rules allow in any window of that length, if no
// jitter ever makes a pause longer.
func (c cost) most(window time.Duration) int {
	type moment struct {
		at   time.Duration
		step int
	}
	known := map[moment]int{}
	var afterPause func(at time.Duration, step int) int
	var afterLife func(at time.Duration) int
	afterPause = func(at time.Duration, step int) int {
		if at >= window {
			return 0
		}
		m := moment{at, min(step, 6)}
		if n, ok := known[m]; ok {
			return n
		}
		pause := min(firstPause<<min(step+1, 6), lastPause)
		known[m] = c.afterPause + max(afterPause(at+pause, step+1), afterLife(at+healthy))
		return known[m]
	}
	afterLife = func(at time.Duration) int {
		if at >= window {
			return 0
		}
		m := moment{at, -1}
		if n, ok := known[m]; ok {
			return n
		}
		known[m] = c.afterLife + max(afterPause(at+firstPause, 0), afterLife(at+healthy))
		return known[m]
	}
	worst := afterLife(0)
	for step := range 7 {
		worst = max(worst, afterPause(0, step))
	}
	return worst + c.rarely
}

// rated is a reflector against an adversary, at full speed, with nothing else to do.
func rated(t *testing.T, adv adversary, seed uint64, opts reflector.Options, life time.Duration) []request {
	s := newServer(dice(seed, 1))
	s.adverse = adv
	return s.rated(t, opts, life)
}

func (s *server) rated(t *testing.T, opts reflector.Options, life time.Duration) []request {
	for i := range 3 {
		s.put(fmt.Sprintf("o%d", i), time.Time{})
	}
	sink := reflector.InQueue(deltafifo.New(deltafifo.Options[*object]{Coalesce: true}))
	if opts.Verify.Metadata != nil {
		sink = reflector.InMemory(store.New(store.Options[*object]{})) // it says what it holds, which a verification needs
	}
	r := reflector.New(s, sink, opts)
	ctx, cancel := context.WithTimeout(context.Background(), life)
	defer cancel()
	if err := r.Run(ctx); err != context.DeadlineExceeded { //nolint:errorlint // it is that very error
		t.Errorf("Run returned %v", err)
	}
	return s.requests
}

// busiest returns the most requests of any window.
func busiest(requests []request, window time.Duration) (most int) {
	first := 0
	for i, r := range requests {
		for r.at.Sub(requests[first].at) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// more reports whether a request is for more of a list, or for the same once more.
func (r request) more() bool { return r.verb == "page" || r.verb == "again" }

func watches(requests []request) []request { return verbs(requests, "watch") }

func verbs(requests []request, verb string) []request {
	return slices.DeleteFunc(slices.Clone(requests), func(r request) bool { return r.verb != verb })
}

// checkRate fails a test in which too much was asked for in any minute.
func checkRate(t *testing.T, who string, requests []request) {
	t.Helper()
	whole := slices.DeleteFunc(slices.Clone(requests), request.more)
	if got, want := busiest(whole, time.Minute), allRequests.most(time.Minute); got > want {
		t.Errorf("%s: %d requests in one minute, the rules allow %d", who, got, want)
	}
	if got, want := busiest(watches(requests), time.Minute), watchesOnly.most(time.Minute); got > want {
		t.Errorf("%s: %d watches in one minute, the rules allow %d", who, got, want)
	}
}

// No jitter is the fastest that a reflector can be.
func noJitter() float64 { return 0 }

// Whatever a server throws dice for, for hours, it cannot make a reflector ask more
// often than the curve says.
func TestRateUnderChaos(t *testing.T) {
	t.Parallel()
	hours, total, worst := 0, 0, 0
	each(t, func(t *testing.T, seed uint64) {
		r := dice(seed, 0)
		opts := reflector.Options{Rand: r.Float64, Initial: []reflector.Initial{reflector.ListAny, reflector.Watch}[r.IntN(2)]}
		if seed%2 == 0 {
			opts.Rand = noJitter
		}
		adv := newChaos(seed)
		adv.rate = 1
		requests := rated(t, adv, seed, opts, 6*time.Hour)
		if len(requests) < 100 {
			t.Errorf("%d requests in 6 hours show nothing", len(requests))
		}
		checkRate(t, "chaos", requests)
		hours, total, worst = hours+6, total+len(requests), max(worst, busiest(requests, time.Minute))
	})
	t.Logf("%d hours simulated: %d requests, %d in the worst minute; the rules allow %d, and %d watches",
		hours, total, worst, allRequests.most(time.Minute), watchesOnly.most(time.Minute))
}

// constant is an adversary without imagination.
type constant struct {
	answer answer
	plan   plan
	lists  int // lists that are answered well before
}

func (c *constant) list() answer {
	if c.lists--; c.lists >= 0 {
		return answer{}
	}
	return c.answer
}
func (c *constant) watch() plan { return c.plan }
func (c *constant) ask() error  { return nil }

// The same answer to every list, together with the same to every watch, for all pairs
// of fault shapes, for an hour each: after the first minutes there are few requests. Where
// a watch is answered such that no second list is asked for, one pair stands for all.
func TestRateOfEveryPair(t *testing.T) {
	t.Parallel()
	// Nothing but a pause lies between two failures, and two pauses at the cap are in a
	// minute. A stream that lives for 10 s is opened again at once, six times a minute,
	// and what a list costs comes on top where it ends with 410. If each list is older than
	// the resume point, the server went back each time, and a second list follows; besides,
	// there is a question about the history of the server every 30 s.
	const most = 20
	var mu sync.Mutex // guards these, while the subtests run
	worst, pairs, same := 0, 0, 0
	note := func(got int, like bool) {
		mu.Lock()
		defer mu.Unlock()
		worst = max(worst, got)
		pairs++
		if like {
			same++
		}
	}
	t.Cleanup(func() {
		t.Logf("%d pairs, %d of them like another: %d requests in the worst minute", pairs, same, worst)
	})
	for _, p := range append([]plan{{name: "watch: good"}}, plans...) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			lists := 0
			for _, a := range append([]answer{{name: "list: good"}}, answers...) {
				if lists == 1 {
					note(0, true)
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					requests := rated(t, &constant{answer: a, plan: p, lists: 1}, 1, reflector.Options{Rand: noJitter}, time.Hour)
					who := a.name + ", " + p.name
					checkRate(t, who, requests)
					if lists == 0 { // and the first list is always good
						lists = len(verbs(requests, "list"))
					}
					later := slices.DeleteFunc(requests, func(r request) bool { return r.at.Sub(began) < 5*time.Minute || r.more() })
					got := busiest(later, time.Minute)
					if got > most {
						t.Errorf("%s: %d requests in one minute after the first five, want %d at most", who, got, most)
					}
					note(got, false)
				})
			}
		})
	}
}

// script is an adversary that goes through its answers again and again.
type script struct {
	plans   []plan
	answers []answer
	p, a    int
}

func (s *script) watch() plan {
	s.p++
	return s.plans[(s.p-1)%len(s.plans)]
}

func (s *script) list() answer {
	s.a++
	return s.answers[(s.a-1)%len(s.answers)]
}
func (*script) ask() error { return nil }

// The cleverest server that the rules admit comes close to what they allow, so that
// the bound says something; and no other cycle of answers comes further.
func TestRateOfCycles(t *testing.T) {
	t.Parallel()
	var clever []plan
	clever = append(clever, planNamed("watch: closed after 10 s"), planNamed("watch: closed after a bookmark"), planNamed("watch: closed after a bookmark"))
	for range 2 {
		clever = append(clever, planNamed("watch broken off: 410 Expired"))
	}
	expired := answer{name: "list refused: 410", refused: refusals[0].err}
	synctest.Test(t, func(t *testing.T) {
		requests := rated(t, &script{plans: clever, answers: []answer{expired, {}}}, 1, reflector.Options{Rand: noJitter}, time.Hour)
		t.Logf("the cleverest: %d requests and %d watches in one minute", busiest(requests, time.Minute), busiest(watches(requests), time.Minute))
		checkRate(t, "the cleverest", requests)
	})
	worst, worstWatches := 0, 0
	each(t, func(t *testing.T, seed uint64) {
		r := dice(seed, 7)
		s := &script{plans: pick(r, plans), answers: pick(r, answers)}
		requests := rated(t, s, seed, reflector.Options{Rand: noJitter}, time.Hour)
		checkRate(t, "a cycle", requests)
		worst = max(worst, busiest(requests, time.Minute))
		worstWatches = max(worstWatches, busiest(watches(requests), time.Minute))
	})
	t.Logf("the worst cycle: %d requests and %d watches in one minute", worst, worstWatches)
}

// pick returns some of all, the good one often among them.
func pick[F any](r *rand.Rand, all []F) []F {
	some := make([]F, 1+r.IntN(6))
	for i := range some {
		if r.IntN(3) > 0 {
			some[i] = all[r.IntN(len(all))]
		}
	}
	return some
}

func planNamed(name string) plan {
	i := slices.IndexFunc(plans, func(p plan) bool { return p.name == name })
	return plans[i]
}
