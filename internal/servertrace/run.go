package servertrace

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/target"
)

// A Server is what a trace is played to.
type Server interface {
	// Read sends a request of a reader. Its URL has no host.
	Read(*http.Request) (*http.Response, error)

	// Write makes a change, and returns its version.
	Write(Write) (version string, err error)

	// Fault does what the command says: a fault of apitest, such as "refill?resource=configmaps".
	Fault(text string) error

	// Settle waits until the server does nothing more by itself. The file wants so many answers,
	// and came says how many there are.
	Settle(want int, came func() int)
}

// run is the state of a run. One goroutine owns it, and each request has one that reads its answer.
type run struct {
	start  func(options string) (Server, error)
	server Server
	lines  []string
	since  time.Time

	ctx     context.Context //nolint:containedctx // of the requests, which end with the run
	reading sync.WaitGroup
	visible chan struct{} // holds one: there is a note

	mu    sync.Mutex // guards what follows
	asked []*asked
	notes []note
}

// asked is a request that was sent.
type asked struct {
	name  string
	nth   int
	token string // with which its list continues
}

// note is a part of an answer: a line, and the items of a list.
type note struct {
	of    *asked
	at    time.Time
	lines []string
}

// Play plays a file to the server that start starts, which gets what stands behind the command
// start. It returns the text that the file should have. In a bubble of testing/synctest, with a
// server in memory, it is deterministic.
func Play(f *File, start func(options string) (Server, error)) ([]string, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{start: start, ctx: ctx, visible: make(chan struct{}, 1)}
	defer r.reading.Wait()
	defer cancel()
	for i, l := range f.lines {
		if l.run {
			continue
		}
		r.lines = append(r.lines, l.text)
		if l.do == nil {
			continue
		}
		r.since = time.Now()
		if err := l.do(r); err != nil {
			return r.lines, fmt.Errorf("line %d: %s: %w", i+1, l.text, err)
		}
		r.server.Settle(f.answersBelow(i), r.came)
		r.drain()
	}
	return r.lines, nil
}

func (f *File) answersBelow(at int) (n int) {
	for _, l := range f.lines[at+1:] {
		if !l.run {
			break
		}
		if l.text[0] == '<' {
			n++
		}
	}
	return n
}

func (r *run) came() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.notes)
}

func (r *run) note(a *asked, lines ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines[0] = "< " + a.name + " " + lines[0]
	r.notes = append(r.notes, note{a, time.Now(), lines})
	select {
	case r.visible <- struct{}{}:
	default: // there is a token already
	}
}

// hold keeps the continue token of an answer.
func (r *run) hold(a *asked, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.token = token
}

// drain writes what has come. What has come in one instant is in the order of the requests, because
// the order of the goroutines is chance.
func (r *run) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.notes, func(a, b note) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.of.nth, b.of.nth))
	})
	for _, n := range r.notes {
		if passed := n.at.Sub(r.since); passed > 0 {
			r.lines = append(r.lines, "~ "+target.Duration(passed))
			r.since = n.at
		}
		r.lines = append(r.lines, n.lines...)
	}
	r.notes = nil
	select {
	case <-r.visible:
	default:
	}
}

// tokenOf is where a path has the continue token of an answer: {a}.
var tokenOf = regexp.MustCompile(`\{[a-z]+\}`)

func (r *run) request(name, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	path = tokenOf.ReplaceAllStringFunc(path, func(name string) string {
		for _, a := range r.asked {
			if "{"+a.name+"}" == name {
				name = url.QueryEscape(a.token)
			}
		}
		return name
	})
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	a := &asked{name: name, nth: len(r.asked)}
	r.asked = append(r.asked, a)
	r.reading.Go(func() {
		if err := r.read(a, req); err != nil {
			r.note(a, "cut")
		}
	})
	return nil
}

// pass lets time pass, with untilVisible at most until something comes.
func (r *run) pass(d time.Duration, untilVisible bool) error {
	visible := r.visible
	if !untilVisible {
		visible = nil
	}
	select {
	case <-visible:
	case <-time.After(d):
	}
	return nil
}
