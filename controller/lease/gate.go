package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/writes"
)

// term is the time from when this process gets the lease until it loses it. What it has is guarded
// by election.mu.
type term struct {
	*election

	steady, wall time.Time     // when the last renewal that was made was sent
	over         chan struct{} // closed when it is over
	why          error         // and why
}

// renewed begins a term, or prolongs it. steady and wall are the time before the request was sent.
func (e *election) renewed(steady, wall time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term == nil {
		e.term = &term{election: e, over: make(chan struct{})}
		close(e.began)
	}
	e.term.steady, e.term.wall = steady, wall
}

// left returns how long the term lasts if there is no renewal. Another process waits for the whole
// Duration from the renewal; a third of it is for clocks that run faster than this one. The clock
// that says less counts.
func (t *term) left() time.Duration {
	steady, wall := t.now()
	return t.duration*2/3 - max(steady.Sub(t.steady), wall.Sub(t.wall))
}

// rest is left for who does not run the election. It ends the term if nothing is left.
func (t *term) rest() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.check()
	return t.left()
}

// leading returns the term, or nil if this process does not lead.
func (e *election) leading() *term {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.check()
}

// check ends the term if its time has run out: in a process that was stopped, nobody may have seen
// it yet. The caller holds mu.
func (e *election) check() *term {
	if e.term != nil && e.term.left() <= 0 {
		e.end(fmt.Errorf("it was not renewed within %v", e.duration*2/3))
	}
	return e.term
}

// end ends the term, if there is one. The caller holds mu.
func (e *election) end(why error) {
	if t := e.term; t != nil {
		t.why = why
		close(t.over)
		e.term, e.began = nil, make(chan struct{})
	}
}

func (e *election) finish(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.end(why)
}

// close ends the term and all others.
func (e *election) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.end(errors.New("it is released"))
	e.settle()
}

// settle tells who waits in release. The caller holds mu.
func (e *election) settle() {
	if e.closed && e.inFlight == 0 {
		close(e.idle)
	}
}

func (e *election) await(ctx context.Context) (*term, error) {
	for ctx.Err() == nil {
		e.mu.Lock()
		t, began := e.check(), e.began
		e.mu.Unlock()
		if t != nil {
			return t, nil
		}
		select {
		case <-began:
		case <-e.done:
			return nil, e.err
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// call calls a function with the context of the term, and reports whether the term was over before
// it returned.
func (t *term) call(ctx context.Context, lead func(ctx context.Context) error) (over bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		for {
			select {
			case <-time.After(t.rest()): // run may wait for its Logger
			case <-t.over:
				cancel(t.why)
				return
			case <-ctx.Done():
				return
			}
		}
	})
	err = lead(writes.WithGate(ctx, func() (leave func(), err error) {
		if leave, err = t.enter(); err != nil {
			cancel(err) // at once: whoever gets the error looks at the context
		}
		return leave, err
	}))
	return ctx.Err() != nil, err
}

// enter lets a write begin, if the term is not over by the clocks.
func (t *term) enter() (leave func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.check() != t {
		return nil, fmt.Errorf("lease %s: this process no longer leads, so no write begins: %w: %w", t.key, t.why, context.Canceled)
	}
	t.inFlight++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.inFlight--
		t.settle()
	}, nil
}
