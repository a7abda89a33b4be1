package simulation

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
)

// tormentor is a server that does the same wrong thing forever, or several in turn.
type tormentor struct {
	what   string
	make   func(s *server, r *rand.Rand) adversary
	verify time.Duration // reflector.VerifyOptions.Every
}

var tormentors = []tormentor{
	{what: "ends each watch at once, cleanly", make: always(answer{}, plan{err: io.EOF})},
	{what: "ends each watch after 10 s, cleanly", make: always(answer{}, plan{err: io.EOF, after: 10 * time.Second})},
	{what: "cuts each watch at once", make: always(answer{}, plan{err: io.ErrUnexpectedEOF})},
	{what: "answers each watch with 410", make: always(answer{}, plan{refused: refusalNamed("410 Expired")})},
	{what: "answers each watch with 410 as its first event", make: always(answer{}, plan{err: refusalNamed("410 Expired")})},
	{what: "answers each watch and every second list with 410", make: func(*server, *rand.Rand) adversary { return &forgetful{} }},
	{what: "answers each watch with 500", make: always(answer{}, plan{refused: refusalNamed("500")})},
	{what: "answers everything with 500", make: always(answer{refused: refusalNamed("500")}, plan{refused: refusalNamed("500")})},
	{what: "answers everything with 502", make: always(answer{refused: refusalNamed("502")}, plan{refused: refusalNamed("502")})},
	{what: "answers everything with HTML", make: always(answer{refused: refusalNamed("HTML of a proxy")}, plan{refused: refusalNamed("HTML of a proxy")})},
	{what: "refuses every connection", make: always(answer{refused: errRefused}, plan{refused: errRefused})},
	{what: "sends one event to each watch and ends it", make: always(answer{}, plan{changes: true, err: io.EOF, events: 1, after: time.Hour})},
	{what: "sends one event to each watch and cuts it", make: always(answer{}, plan{changes: true, err: io.ErrUnexpectedEOF, events: 1, after: time.Hour})},
	{what: "sends one event to each watch, and then 410", make: always(answer{}, plan{changes: true, err: refusalNamed("410 Expired"), events: 1, after: time.Hour})},
	{
		what: "ends watches after 10 s or one event, and refuses lists at an exact version, while the copy is verified each second",
		make: func(*server, *rand.Rand) adversary {
			short := plan{changes: true, err: io.EOF, events: 1, after: time.Hour}
			return &script{plans: []plan{{err: io.EOF, after: 10 * time.Second}, short, short}, answers: []answer{{}}}
		},
		verify: time.Second,
	},
	{what: "does one of these at a time, for up to a minute, chosen at random", make: func(s *server, r *rand.Rand) adversary {
		return &fickle{server: s, rand: r, longest: time.Minute}
	}},
	{what: "does one of these to each request, chosen at random", make: func(s *server, r *rand.Rand) adversary { return &fickle{server: s, rand: r} }},
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

// metadata lists the metadata of a server's objects, but never at an exact version.
type metadata struct{ *server }

func (m metadata) List(ctx context.Context, opts metav1.ListOptions) (*source.Page[*metav1.PartialObjectMetadata], error) {
	if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		asked(m.server, "list", func(adversary) (answer, string) { return answer{}, "" })
		return nil, status(http.StatusBadRequest, metav1.StatusReasonBadRequest, "resourceVersionMatch")
	}
	page, err := m.server.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	of := &source.Page[*metav1.PartialObjectMetadata]{ResourceVersion: page.ResourceVersion, Continue: page.Continue, Errors: page.Errors}
	for _, obj := range page.Items {
		of.Items = append(of.Items, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
		}})
	}
	return of, nil
}

func (metadata) Watch(context.Context, metav1.ListOptions) (source.Watch[*metav1.PartialObjectMetadata], error) {
	panic("a verification does not watch")
}

// Whatever a server does, it gets no more than 24 watches and 48 requests out of a
// reflector in a minute, verifications included, and pages of lists aside.
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
	if who.verify > 0 {
		opts.Verify = reflector.VerifyOptions{Interval: who.verify, Metadata: metadata{s}}
	}
	s.adverse = who.make(s, dice(seed, 7))
	asked := s.rated(t, opts, time.Hour)
	if len(asked) < 60 {
		t.Errorf("%d requests in an hour show nothing", len(asked))
	}
	return inAMinute(asked)
}
