package servertrace

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/target"
	"github.com/relist-go/relist/internal/visible"
)

// A Server is what a trace is played to.
type Server interface {
	// Read sends a request of a reader. Its URL has no host.
	Read(*http.Request) (*http.Response, error)

	// Write makes a change, and returns its version.
	Write(Write) (version string, err error)

	// Fault does what the command says: a fault of apitest, such as "refill?resource=configmaps".
	Fault(text string) error

	// Settle waits until the server does nothing more by itself. The file has so many answers here,
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

	mu     sync.Mutex        // guards what follows
	tokens map[string]string // the continue token of each list, by the name of its request
	notes  []note
}

// note is a part of an answer: a line, and the items of a list.
type note struct {
	name  string // of the request
	at    time.Time
	lines []string
}

// Play plays a file to the server that start starts, which gets what stands behind the command
// start. It returns the text that the file should have. In a bubble of testing/synctest, with a
// server in memory, it is deterministic.
func Play(f *File, start func(options string) (Server, error)) ([]string, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{start: start, ctx: ctx, visible: make(chan struct{}, 1), tokens: map[string]string{}}
	defer r.reading.Wait()
	defer cancel()
	for i, l := range f.lines {
		if !l.run {
			r.lines = append(r.lines, l.text)
		}
		if l.do == nil {
			continue
		}
		r.since = time.Now()
		if err := l.do(r); err != nil {
			return r.lines, fmt.Errorf("line %d: %s: %w", i+1, l.text, err)
		}
		r.server.Settle(l.answers, r.came)
		r.drain()
	}
	return r.lines, nil
}

func (r *run) came() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.notes)
}

func (r *run) note(name, token string, lines ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens[name] = token
	lines[0] = "< " + name + " " + lines[0]
	r.notes = append(r.notes, note{name, time.Now(), lines})
	select {
	case r.visible <- struct{}{}:
	default: // there is a token already
	}
}

// drain writes what has come. What has come in one instant is in the order of their names, because
// that of the goroutines is chance.
func (r *run) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.notes, func(a, b note) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name))
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
var tokenOf = regexp.MustCompile(`\{[a-z]\}`)

func (r *run) request(name, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range tokenOf.FindAllString(path, -1) {
		token := r.tokens[name[1:2]]
		if token == "" {
			return fmt.Errorf("there is no list that continues, and is called %s", name)
		}
		path = strings.ReplaceAll(path, name, url.QueryEscape(token))
	}
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	r.reading.Go(func() {
		if err := r.read(name, req); err != nil { // which nobody sees at the end of the run
			r.note(name, "", "cut: "+visible.OneLine(err.Error()))
		}
	})
	return nil
}
