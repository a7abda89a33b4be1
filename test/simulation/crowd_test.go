//go:build !race

package simulation

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// crowd is a server with one object and thousands of clients, all in memory. It keeps the
// rules and does nothing else to them than to be away.
type crowd struct {
	marks   time.Duration // between two bookmarks; 0 if there are none
	endless bool          // timeoutSeconds are not obeyed: the client has to end its watches

	mu     sync.Mutex // guards all below
	obj    *object
	oldest uint64        // that can be watched from
	lost   chan struct{} // closed when the server goes; nil while it is away
	asked  []asking
}

// asking is a request that a crowd's server has answered.
type asking struct {
	who  int
	at   time.Time
	verb string // watch; list for everything there is; ask for less
	etcd bool   // kube-apiserver may answer it from etcd; only in a fleet
}

func newCrowd() *crowd {
	return &crowd{obj: &object{name: "one", uid: "1", version: birth}, oldest: birth, lost: make(chan struct{})}
}

// leave closes every connection and refuses new ones.
func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.lost)
	c.lost = nil
}

// comeBack answers again, and has forgotten what was before.
func (c *crowd) comeBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := *c.obj
	changed.version += 100
	c.obj, c.oldest, c.lost, c.asked = &changed, changed.version, make(chan struct{}), nil
}

// answer notes a request, and returns what the server has; an error if it is away.
func (c *crowd) answer(who int, verb string) (*object, uint64, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost == nil {
		return nil, 0, nil, errRefused
	}
	c.asked = append(c.asked, asking{who: who, at: time.Now(), verb: verb})
	return c.obj, c.oldest, c.lost, nil
}

// heard returns what was asked, in order of time.
func (c *crowd) heard() []asking {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

// member is one of the clients' ListWatchers.
type member struct {
	*crowd
	who int
}

// List implements source.ListWatcher.
func (m member) List(_ context.Context, opts metav1.ListOptions) (*source.Page[*object], error) {
	verb := "list"
	if opts.FieldSelector != "" || opts.Limit == 1 {
		verb = "ask"
	}
	obj, _, _, err := m.answer(m.who, verb)
	if err != nil {
		return nil, err
	}
	return &source.Page[*object]{Items: []*object{obj}, ResourceVersion: format(obj.version)}, nil
}

// Watch implements source.ListWatcher.
func (m member) Watch(ctx context.Context, opts metav1.ListOptions) (source.Watch[*object], error) {
	obj, oldest, lost, err := m.answer(m.who, "watch")
	if err != nil {
		return nil, err
	}
	q := &quiet{ctx: ctx, lost: lost, version: obj.version, marks: m.marks}
	if parse(opts.ResourceVersion) < oldest {
		q.err = refusals[0].err // 410, as the first event
	}
	if opts.TimeoutSeconds != nil && !m.endless {
		q.end = time.Now().Add(time.Duration(*opts.TimeoutSeconds) * time.Second)
	}
	return q, nil
}

// quiet is a watch in which nothing happens but bookmarks.
type quiet struct {
	ctx     context.Context //nolint:containedctx // of the call whose stream it is
	lost    <-chan struct{}
	err     error // instead of all else
	version uint64
	marks   time.Duration
	end     time.Time // zero if it has none
}

// Next implements source.Watch.
func (q *quiet) Next() (e source.Event[*object], err error) {
	if q.err != nil {
		return e, q.err
	}
	wait := q.marks
	if left := time.Until(q.end); !q.end.IsZero() && (wait == 0 || left < wait) {
		wait = left
	}
	var due <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-q.lost:
		return e, io.ErrUnexpectedEOF
	case <-q.ctx.Done():
		return e, q.ctx.Err()
	}
	if !q.end.IsZero() && !time.Now().Before(q.end) {
		return e, io.EOF
	}
	return bookmarks(format(q.version))[0], nil
}

// Close implements source.Watch.
func (*quiet) Close() error { return nil }

// gather starts reflectors of a crowd's server, all at once, and stops them when the
// test has ended.
func (c *crowd) gather(t *testing.T, seed uint64, size int) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for who := range size {
		r := reflector.New(member{c, who}, reflector.InMemory(store.New(store.Options[*object]{})),
			reflector.Options{Rand: dice(seed, uint64(who)).Float64})
		running.Go(func() {
			if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Run returned %v", err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// times returns when requests of one kind came.
func times(asked []asking, verb string) (at []request) {
	for _, a := range asked {
		if a.verb == verb {
			at = append(at, request{at: a.at, verb: verb})
		}
	}
	return at
}
