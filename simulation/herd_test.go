package simulation

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/reflector"
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
		what: "1,000 reflectors whose server was away for a minute and has compacted: lists in one second", unit: " %", most: 20, times: 10,
		count: func(t *testing.T, seed uint64) int {
			lists := times(afterOutage(t, seed), "list")
			if len(lists) < crowdSize {
				t.Errorf("%d lists after the outage, want one of each of %d at least", len(lists), crowdSize)
			}
			return (100*busiest(lists, time.Second) + len(lists) - 1) / len(lists)
		},
	},
	{
		what: "the same: those whose first request is no watch", most: 0, times: 10,
		count: func(t *testing.T, seed uint64) (others int) {
			seen := map[int]bool{}
			for _, a := range afterOutage(t, seed) {
				if !seen[a.who] && a.verb != "watch" {
					others++
				}
				seen[a.who] = true
			}
			return others
		},
	},
	{
		what: "an idle watch, no bookmarks, ended by the server at its timeout: opened again in one hour", most: 11, times: 1,
		count: func(t *testing.T, seed uint64) int { return reopened(t, seed, newCrowd()) },
	},
	{
		what: "an idle watch, no bookmarks, never ended by the server: opened again in one hour", most: 11, times: 1,
		count: func(t *testing.T, seed uint64) int {
			c := newCrowd()
			c.endless = true
			return reopened(t, seed, c)
		},
	},
	{
		what: "5,000 idle reflectors opened together, no bookmarks: watches opened again in one second", most: 200, times: 20,
		count: func(t *testing.T, seed uint64) int { return reopenedTogether(t, seed, newCrowd()) },
	},
	{
		what: "5,000 idle reflectors opened together, with bookmarks: watches opened again in one second", most: 200, times: 20,
		count: func(t *testing.T, seed uint64) int {
			c := newCrowd()
			c.marks = time.Minute
			return reopenedTogether(t, seed, c)
		},
	},
}

const crowdSize = 1000

// afterOutage returns what a crowd asks once its server is back.
func afterOutage(t *testing.T, seed uint64) []asking {
	c := newCrowd()
	c.gather(t, seed, crowdSize)
	<-time.After(between(dice(seed, 1<<32), 15*time.Second, time.Minute))
	c.leave()
	<-time.After(time.Minute)
	c.comeBack()
	<-time.After(2 * time.Minute)
	synctest.Wait()
	return c.heard()
}

// reopened returns how often one reflector opens its watch again in the worst of 6 hours.
func reopened(t *testing.T, seed uint64, c *crowd) int {
	c.gather(t, seed, 1)
	<-time.After(6 * time.Hour)
	synctest.Wait()
	opened := times(c.heard(), "watch")
	if len(opened) < 6 {
		t.Errorf("%d watches in 6 hours show nothing", len(opened))
	}
	return busiest(opened[1:], time.Hour)
}

// reopenedTogether returns how many watches of a crowd are opened again in the worst
// second of a quarter of an hour.
func reopenedTogether(t *testing.T, seed uint64, c *crowd) int {
	const size = 5000
	c.gather(t, seed, size)
	<-time.After(15 * time.Minute)
	synctest.Wait()
	opened := times(c.heard(), "watch")
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
	page := newTable("herd", "what", "at most", "promised")
	t.Cleanup(func() {
		for i, h := range herds {
			if done[i] {
				page.row(h.what, fmt.Sprint(worst[i], h.unit), fmt.Sprint(h.most, h.unit))
			}
		}
		page.show(t, len(herds))
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

// tormentor is a server that does the same wrong thing for ever, or several in turn.
type tormentor struct {
	what string
	make func(s *server, r *rand.Rand) adversary
}

var tormentors = []tormentor{
	{"ends each watch at once, in good order", always(answer{}, plan{err: io.EOF})},
	{"ends each watch after 10 s, in good order", always(answer{}, plan{err: io.EOF, after: 10 * time.Second})},
	{"cuts each watch at once", always(answer{}, plan{err: io.ErrUnexpectedEOF})},
	{"answers each watch with 410", always(answer{}, plan{refused: refusalNamed("410 Expired")})},
	{"answers each watch with 410 as its first event", always(answer{}, plan{err: refusalNamed("410 Expired")})},
	{"answers each watch and every second list with 410", func(*server, *rand.Rand) adversary { return &forgetful{} }},
	{"answers each watch with 500", always(answer{}, plan{refused: refusalNamed("500")})},
	{"answers everything with 500", always(answer{refused: refusalNamed("500")}, plan{refused: refusalNamed("500")})},
	{"answers everything with 502", always(answer{refused: refusalNamed("502")}, plan{refused: refusalNamed("502")})},
	{"answers everything with HTML", always(answer{refused: refusalNamed("HTML of a proxy")}, plan{refused: refusalNamed("HTML of a proxy")})},
	{"refuses every connection", always(answer{refused: errRefused}, plan{refused: errRefused})},
	{"sends one event to each watch and ends it", always(answer{}, plan{changes: true, err: io.EOF, events: 1, after: time.Hour})},
	{"sends one event to each watch and cuts it", always(answer{}, plan{changes: true, err: io.ErrUnexpectedEOF, events: 1, after: time.Hour})},
	{"sends one event to each watch, and then 410", always(answer{}, plan{changes: true, err: refusalNamed("410 Expired"), events: 1, after: time.Hour})},
	{"does one of these at a time, for up to a minute, chosen by dice", func(s *server, r *rand.Rand) adversary {
		return &fickle{server: s, rand: r, longest: time.Minute}
	}},
	{"does one of these to each request, chosen by dice", func(s *server, r *rand.Rand) adversary { return &fickle{server: s, rand: r} }},
}

// refusalNamed returns the error of a refusal.
func refusalNamed(name string) error {
	for _, r := range refusals {
		if r.name == name {
			return r.err
		}
	}
	panic("no refusal is called " + name)
}

// always is one answer to lists, but the first, and one to watches.
func always(a answer, p plan) func(*server, *rand.Rand) adversary {
	return func(*server, *rand.Rand) adversary { return &constant{answer: a, plan: p, lists: 1} }
}

// forgetful no longer has the version of any watch, nor that of the first of two lists.
type forgetful struct{ n int }

func (f *forgetful) list() answer {
	if f.n++; f.n > 1 && f.n%2 == 0 {
		return answer{refused: refusalNamed("410 Expired")}
	}
	return answer{}
}
func (*forgetful) watch() plan { return plan{refused: refusalNamed("410 Expired")} }
func (*forgetful) get() error  { return nil }

// fickle is another tormentor after some time, or for each request.
type fickle struct {
	*server
	rand    *rand.Rand
	longest time.Duration
	present adversary
	until   time.Time
}

func (f *fickle) turn() adversary {
	if now := time.Now(); f.present == nil || !now.Before(f.until) {
		f.present = tormentors[f.rand.IntN(len(tormentors)-2)].make(f.server, f.rand)
		f.until = now
		if f.longest > 0 {
			f.until = now.Add(time.Duration(f.rand.Int64N(int64(f.longest))))
		}
	}
	return f.present
}

func (f *fickle) list() answer { return f.turn().list() }
func (f *fickle) watch() plan  { return f.turn().watch() }
func (f *fickle) get() error   { return f.turn().get() }

// Whatever a server does, it gets no more than 24 watches and 50 requests out of a
// reflector in a minute, pages of lists aside.
func TestMostInAMinute(t *testing.T) {
	t.Parallel()
	type counts struct{ watches, requests, runs int }
	results := make([]counts, len(tormentors))
	page := newTable("minute", "a server that", "watches in the worst minute", "requests")
	t.Cleanup(func() {
		for i, who := range tormentors {
			if r := results[i]; r.runs > 0 {
				page.row(who.what, fmt.Sprint(r.watches), fmt.Sprint(r.requests))
			}
		}
		page.show(t, len(tormentors))
	})
	for i, who := range tormentors {
		t.Run(who.what, func(t *testing.T) {
			t.Parallel()
			measure(t, func(t *testing.T, seed uint64) {
				watches, requests := torment(t, who, seed)
				r := &results[i]
				r.watches, r.requests, r.runs = max(r.watches, watches), max(r.requests, requests), r.runs+1
				checkMinute(t, watches, requests)
			})
		})
	}
}

// torment returns the most watches and the most requests in a minute that a server gets
// out of a reflector in an hour. Every other seed goes without jitter: nothing is faster.
func torment(t *testing.T, who tormentor, seed uint64) (watching, requests int) {
	opts := reflector.Options{Rand: dice(seed, 0).Float64}
	if seed%2 == 0 {
		opts.Rand = noJitter
	}
	s := newServer(dice(seed, 1))
	s.adverse = who.make(s, dice(seed, 7))
	asked := s.rated(t, opts, time.Hour)
	if len(asked) < 60 {
		t.Errorf("%d requests in an hour show nothing", len(asked))
	}
	whole := slices.DeleteFunc(slices.Clone(asked), request.more)
	return busiest(watches(asked), time.Minute), busiest(whole, time.Minute)
}
