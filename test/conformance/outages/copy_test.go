package outages

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
)

// patience bounds every wait for something that must happen. It is only spent when
// the test fails.
const patience = 5 * time.Minute

// step is one thing that happened to a copy.
type step struct {
	kind            string // list, listed, watch, open, relist, backoff, bookmark, problem, synced, delta
	at              time.Time
	resourceVersion string
	word            string // the reason of a relist or backoff, the class of a problem, the type of a delta
	key             string // of a delta or a problem
	uid             string // of a delta
	inferred        bool   // a delta's deletion that nobody saw
	err             error
}

func (s step) String() string {
	text := strings.TrimSpace(fmt.Sprintf("%s %s %s@%s", s.kind, s.word, s.key, s.resourceVersion))
	if s.inferred {
		text += " (inferred)"
	}
	if s.err != nil {
		text += ": " + s.err.Error()
	}
	return text
}

// replica is a copy of one resource: a reflector, its queue, a store, and all that
// happened to them.
type replica[T object.Object] struct {
	t      *testing.T
	begun  time.Time
	source *reflector.Reflector[T]
	queue  *deltafifo.Queue[T]
	store  *store.Store[T]

	mu      sync.Mutex
	history []step
	more    chan struct{} // closed and replaced with each step
}

// follow copies a resource of all namespaces until the test ends. The first list is one of the API
// server's watch cache, which may lack the last writes for a moment.
func follow[T object.Object](t *testing.T, c *cluster.Cluster, token string, resource schema.GroupVersionResource, opts reflector.Options) *replica[T] {
	t.Helper()
	config := c.Access().Config()
	config.BearerToken = token
	return followOver(t, config, resource, listwatch.Options[T]{}, opts)
}

// followOver does it over a connection of the test's own, with its selectors.
func followOver[T object.Object](
	t *testing.T, config transport.Config, resource schema.GroupVersionResource, of listwatch.Options[T], opts reflector.Options,
) *replica[T] {
	t.Helper()
	client, err := transport.NewClient(config)
	must.OK(t, err)
	t.Cleanup(client.Close)
	lw, err := listwatch.New(client, resource, of)
	must.OK(t, err)

	r := &replica[T]{t: t, begun: time.Now(), store: store.New(store.Options[T]{}), more: make(chan struct{})}
	r.queue = deltafifo.New(deltafifo.Options[T]{Known: r.store})
	opts.Trace = r.trace()
	r.source = reflector.New(lw, reflector.InQueue(r.queue), opts)

	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	group.Go(func() { _ = r.source.Run(ctx) })
	group.Go(func() { r.consume(ctx) })
	t.Cleanup(func() {
		stop()
		group.Wait()
		if t.Failed() {
			t.Logf("what happened to the copy, without deltas:\n%s", r.story())
		}
	})
	r.await("the first list", func([]step) bool { return r.queue.HasSynced() })
	return r
}

// consume applies what is queued until ctx ends.
func (r *replica[T]) consume(ctx context.Context) {
	for {
		err := r.queue.Pop(ctx, r.process)
		switch {
		case ctx.Err() != nil, errors.Is(err, deltafifo.ErrClosed):
			return
		case err != nil:
			r.t.Errorf("apply: %v", err)
		}
		if r.queue.HasSynced() {
			r.happened(step{kind: "processed"})
		}
	}
}

func (r *replica[T]) process(e deltafifo.Entry[T]) error {
	for _, d := range e.Deltas {
		apply := r.store.Update
		if d.Type == deltafifo.Deleted {
			apply = r.store.Delete
		}
		if err := apply(d.Object); err != nil {
			return err
		}
		r.happened(step{
			kind: "delta", word: d.Type.String(), key: e.Key, inferred: d.Tombstone != nil,
			uid: string(d.Object.GetUID()), resourceVersion: d.Object.GetResourceVersion(),
		})
	}
	return nil
}

// trace writes down what the reflector does.
func (r *replica[T]) trace() *reflector.Trace {
	return &reflector.Trace{
		ListStart: func(l reflector.ListStart) { r.happened(step{kind: "list", resourceVersion: l.ResourceVersion}) },
		ListDone: func(l reflector.ListDone) {
			r.happened(step{kind: "listed", resourceVersion: l.ResourceVersion, err: l.Err})
		},
		WatchStart: func(w reflector.WatchStart) { r.happened(step{kind: "watch", resourceVersion: w.ResourceVersion}) },
		WatchOpen:  func() { r.happened(step{kind: "open"}) },
		Bookmark:   func(version string) { r.happened(step{kind: "bookmark", resourceVersion: version}) },
		Relist: func(l reflector.Relist) {
			r.happened(step{kind: "relist", word: l.Reason.String(), resourceVersion: l.ResourceVersion, err: l.Err})
		},
		Backoff: func(b reflector.Backoff) {
			r.happened(step{kind: "backoff", word: b.Reason.String(), err: b.Err})
		},
		Problem: func(p reflector.Problem) {
			r.happened(step{kind: "problem", word: p.Class.String(), key: p.Key, err: p.Err})
		},
		Synced: func() { r.happened(step{kind: "synced"}) },
	}
}

func (r *replica[T]) happened(s step) {
	s.at = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, s)
	close(r.more)
	r.more = make(chan struct{})
}

// steps returns the history so far, and a channel that is closed when it grows.
func (r *replica[T]) steps() ([]step, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history[:len(r.history):len(r.history)], r.more
}

// await waits until holds is true of the history, and returns when that was seen.
func (r *replica[T]) await(what string, holds func([]step) bool) time.Time {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		history, more := r.steps()
		if holds(history) {
			return time.Now()
		}
		select {
		case <-more:
		case <-deadline:
			r.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// story is the history without deltas, a line for each step.
func (r *replica[T]) story() string {
	history, _ := r.steps()
	var text strings.Builder
	for _, s := range history {
		if s.kind != "delta" && s.kind != "processed" {
			fmt.Fprintf(&text, "%6.1fs %s\n", s.at.Sub(r.begun).Seconds(), s)
		}
	}
	return text.String()
}

// count returns how many steps are of a kind, and of a word if one is given.
func count(history []step, kind, word string) int {
	n := 0
	for _, s := range history {
		if s.kind == kind && (word == "" || s.word == word) {
			n++
		}
	}
	return n
}
