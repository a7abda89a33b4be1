package simulation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// rated runs a reflector against an adversary, at full speed, with nothing else to do.
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

func verbs(requests []request, verb string) []request {
	return slices.DeleteFunc(slices.Clone(requests), func(r request) bool { return r.verb != verb })
}

// inAMinute returns the most watches and the most requests of any minute.
func inAMinute(requests []request) (watching, all int) {
	whole := slices.DeleteFunc(slices.Clone(requests), request.more)
	return busiest(verbs(requests, "watch"), time.Minute), busiest(whole, time.Minute)
}

// No jitter is the fastest that a reflector can be.
func noJitter() float64 { return 0 }

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
	// Nothing but a delay lies between two failures, and two delays at the cap are in a
	// minute. A stream that lives for 10 s is opened again at once, six times a minute,
	// and what a list costs comes on top where it ends with 410. If each list is older than
	// the resume version, the server rolled back each time, and a second list follows; besides,
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
					s := newServer(dice(1, 1))
					s.adverse = &constant{answer: a, plan: p, lists: 1}
					requests := s.rated(t, reflector.Options{Rand: noJitter}, time.Hour)
					watches, all := inAMinute(requests)
					checkMinute(t, watches, all)
					if t.Failed() {
						t.Log("each list: " + a.name)
					}
					if lists == 0 { // and the first list is always good
						lists = len(verbs(requests, "list"))
					}
					later := slices.DeleteFunc(requests, func(r request) bool { return r.at.Sub(began) < 5*time.Minute || r.more() })
					got := busiest(later, time.Minute)
					if got > most {
						t.Errorf("%s: %d requests in one minute after the first five, want %d at most", a.name, got, most)
					}
					note(got, false)
				})
			}
		})
	}
}
