package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
)

// errIll is why an object cannot be decoded.
var errIll = errors.New("cannot be decoded")

// adversary says how the next request is answered.
type adversary interface {
	list() answer
	watch() plan
	ask() error // of a list of one object by its name
}

// request is one that the server was asked.
type request struct {
	at   time.Time
	verb string // list, watch, ask, page (of a list, but the first), or again (a list whose continue token has expired)
}

// server is a ListWatcher over a truth, which an adversary makes lie and fail.
type server struct {
	*truth
	latency time.Duration
	marks   time.Duration // between two bookmarks; 0 if there are none

	again atomic.Bool // a continue token was refused

	lock     sync.Mutex // guards all below
	adverse  adversary  // nil if all is well
	rand     *rand.Rand
	requests []request
	faults   map[string]int
	sent     int // events, of all streams
}

func newServer(r *rand.Rand) *server {
	return &server{truth: newTruth(), rand: r, faults: map[string]int{}}
}

// asked takes note of a request, and returns what to do to it.
func asked[F any](s *server, verb string, choose func(adversary) (F, string)) (fault F) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.requests = append(s.requests, request{at: time.Now(), verb: verb})
	if s.adverse == nil {
		return fault
	}
	fault, name := choose(s.adverse)
	if name != "" {
		s.faults[name]++
	}
	return fault
}

// behave ends all faults but those in progress.
func (s *server) behave() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.adverse = nil
}

// met returns how many requests have met a fault.
func (s *server) met() (n int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, times := range s.faults {
		n += times
	}
	return n
}

// within returns a number from low to high.
func (s *server) within(low, high uint64) uint64 {
	if low >= high {
		return low
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	return low + s.rand.Uint64N(high-low+1)
}

// pass waits; it returns the error of ctx if that ends first.
func pass(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// List implements source.ListWatcher.
func (s *server) List(ctx context.Context, opts metav1.ListOptions) (*source.Page[*object], error) {
	if name, ok := strings.CutPrefix(opts.FieldSelector, "metadata.name="); ok {
		return s.ask(ctx, name, opts)
	}
	verb := "list"
	switch {
	case opts.Continue != "":
		verb = "page"
	case s.again.Swap(false):
		verb = "again"
	}
	a := asked(s, verb, func(adv adversary) (answer, string) { a := adv.list(); return a, a.name })
	if err := pass(ctx, s.latency); err != nil {
		return nil, err
	}
	switch {
	case a.silent:
		<-ctx.Done()
		return nil, ctx.Err()
	case a.refused != nil:
		return nil, a.refused
	}
	if opts.Continue != "" {
		return s.more(opts, a)
	}
	want := parse(opts.ResourceVersion)
	s.mu.Lock()
	present, floor := s.version(), s.floor
	s.mu.Unlock()
	if want > present {
		if err := pass(ctx, 3*time.Second); err != nil {
			return nil, err
		}
		return nil, tooLarge()
	}
	version := present
	switch { // the most recent state is what it is
	case opts.ResourceVersion == "":
	case a.stale && want == 0:
		version = s.within(birth, present)
	case a.stale:
		version = s.within(birth, want-1)
	case a.lagging && want > 0:
		version = want
	case a.lagging:
		version = s.within(max(floor, present-min(20, present-birth), want), present)
	}
	page := s.page(version, 0, opts.Limit, a)
	if a.slow {
		if err := pass(ctx, time.Minute); err != nil {
			return nil, err
		}
		s.forget()
	}
	return page, nil
}

// more answers with the page that a continue token stands for.
func (s *server) more(opts metav1.ListOptions, a answer) (*source.Page[*object], error) {
	var version, offset uint64
	if _, err := fmt.Sscanf(opts.Continue, "%d/%d", &version, &offset); err != nil {
		return nil, status(http.StatusBadRequest, metav1.StatusReasonBadRequest, "continue")
	}
	s.mu.Lock()
	expired := version < s.floor
	s.mu.Unlock()
	switch {
	case expired, a.expires:
		s.again.Store(true)
		return nil, status(http.StatusGone, metav1.StatusReasonExpired, "The provided continue parameter is too old")
	case a.repeats:
		return &source.Page[*object]{ResourceVersion: format(version), Continue: opts.Continue}, nil
	}
	return s.page(version, offset, opts.Limit, a), nil
}

// page returns the objects of a version from an offset on.
func (s *server) page(version, offset uint64, limit int64, a answer) *source.Page[*object] {
	s.mu.Lock()
	all := s.at(version)
	s.mu.Unlock()
	page := &source.Page[*object]{ResourceVersion: format(version)}
	if a.anonymous {
		page.ResourceVersion = ""
	}
	rest := all[min(int(offset), len(all)):]
	size := len(rest)
	switch {
	case a.pages && a.empty && offset == 0:
		size = 0
	case a.pages:
		size = min(size, 1)
	case limit > 0:
		size = min(size, int(limit))
	}
	if a.pages && a.empty && offset == 0 && len(rest) > 0 {
		// An empty page cannot have the token of its own offset: the next would have
		// the same. A leading zero makes another.
		page.Continue = fmt.Sprintf("%d/00", version)
		return page
	}
	for _, obj := range rest[:size] {
		if obj.ill() {
			page.Errors = append(page.Errors, &source.ObjectError{Meta: obj.meta(), Err: errIll})
		} else {
			page.Items = append(page.Items, obj)
		}
	}
	if size < len(rest) {
		page.Continue = fmt.Sprintf("%d/%d", version, int(offset)+size)
	}
	return page
}

// ask answers a list of one object by its name: with the most recent state, as no list of that kind
// comes from a cache.
func (s *server) ask(ctx context.Context, name string, opts metav1.ListOptions) (*source.Page[*object], error) {
	fault := asked(s, "ask", func(adv adversary) (error, string) { //nolint:staticcheck // the error is the fault, not the outcome
		if err := adv.ask(); err != nil {
			return err, "ask refused"
		}
		return nil, ""
	})
	if err := pass(ctx, s.latency); err != nil {
		return nil, err
	}
	if fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.version()
	if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		switch at := parse(opts.ResourceVersion); {
		case at > version:
			return nil, tooLarge()
		case at < s.floor:
			return nil, status(http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
		default:
			version = at
		}
	}
	page := &source.Page[*object]{ResourceVersion: format(version)}
	for _, obj := range s.at(version) {
		switch {
		case obj.name != name:
		case obj.ill():
			page.Errors = append(page.Errors, &source.ObjectError{Meta: obj.meta(), Err: errIll})
		default:
			page.Items = append(page.Items, obj)
		}
	}
	return page, nil
}

// Watch implements source.ListWatcher.
func (s *server) Watch(ctx context.Context, opts metav1.ListOptions) (source.Watch[*object], error) {
	p := asked(s, "watch", func(adv adversary) (plan, string) { p := adv.watch(); return p, p.name })
	if err := pass(ctx, s.latency); err != nil {
		return nil, err
	}
	if p.refused != nil {
		return nil, p.refused
	}
	if p.changes {
		s.put("o0", time.Time{})
	}
	st := &stream{server: s, ctx: ctx, plan: p, opened: time.Now(), marked: time.Now(), at: parse(opts.ResourceVersion)}
	if opts.TimeoutSeconds != nil {
		st.timeout = time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	if err := st.begin(opts); err != nil {
		return nil, err
	}
	return st, nil
}
