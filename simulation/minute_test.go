package simulation

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/relist-go/relist/reflector"
)

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
func (*forgetful) ask() error  { return nil }

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
func (f *fickle) ask() error   { return f.turn().ask() }

// Whatever a server does, it gets no more than 24 watches and 50 requests out of a
// reflector in a minute, pages of lists aside.
func TestMostInAMinute(t *testing.T) {
	t.Parallel()
	type counts struct{ watches, requests, runs int }
	results := make([]counts, len(tormentors))
	table := newTable("minute", "a server that", "watches in the worst minute", "requests")
	t.Cleanup(func() {
		for i, who := range tormentors {
			if r := results[i]; r.runs > 0 {
				table.row(who.what, fmt.Sprint(r.watches), fmt.Sprint(r.requests))
			}
		}
		table.show(t, len(tormentors))
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
