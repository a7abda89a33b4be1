package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/relist-go/relist/internal/writes"
)

// term is the time from when this process gets the lease until it loses it. What it has is guarded
// by election.mu.
type term struct {
	*election

	steady, wall time.Time // when the last renewal that was made was sent
	timer        *time.Timer
	members      map[*context.CancelCauseFunc]struct{}
	over         chan struct{} // closed when it is over
	why          error         // and why
}

// renewed begins a term, or prolongs it. steady and wall are the time before the request was sent.
func (e *election) renewed(steady, wall time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term != nil {
		e.term.steady, e.term.wall = steady, wall
		return
	}
	t := &term{election: e, steady: steady, wall: wall, members: map[*context.CancelCauseFunc]struct{}{}, over: make(chan struct{})}
	t.timer = time.AfterFunc(t.left(), t.expire)
	e.term = t
	close(e.began)
}

// left returns how long the term lasts if there is no renewal. Another process waits for the whole
// Duration from the renewal; a third of it is for clocks that run faster than this one. The clock
// that says less counts.
func (t *term) left() time.Duration {
	steady, wall := t.now()
	return t.duration*2/3 - max(steady.Sub(t.steady), wall.Sub(t.wall))
}

// expire is called when the time of a renewal has run out. There may have been another.
func (t *term) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.check() {
		t.timer.Reset(t.left())
	}
}

// check reports whether the term lasts, and ends it if its time has run out. The timers of a process
// that was stopped may not have rung yet. The caller holds mu.
func (t *term) check() bool {
	if t.why == nil && t.left() <= 0 {
		t.finish(fmt.Errorf("it was not renewed within %v", t.duration*2/3))
	}
	return t.why == nil
}

// finish ends the term. The caller holds mu.
func (t *term) finish(why error) {
	t.why = why
	t.timer.Stop()
	for cancel := range t.members {
		(*cancel)(why)
	}
	t.term, t.began = nil, make(chan struct{})
	close(t.over)
}

// leading returns the term, or nil if this process does not lead.
func (e *election) leading() *term {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term == nil || !e.term.check() {
		return nil
	}
	return e.term
}

// end ends a term, if there is one.
func (e *election) end(t *term, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t != nil && t.why == nil {
		t.finish(why)
	}
}

// close ends the term, and returns a channel that is closed when no write is in flight.
func (e *election) close(why error) <-chan struct{} {
	e.end(e.leading(), why)
	e.mu.Lock()
	defer e.mu.Unlock()
	idle := make(chan struct{})
	e.idle = idle
	e.settle()
	return idle
}

// settle tells who waits in release. The caller holds mu.
func (e *election) settle() {
	if e.idle != nil && e.inFlight == 0 {
		close(e.idle)
		e.idle = nil
	}
}

// await waits for a term.
func (e *election) await(ctx context.Context) (*term, error) {
	for {
		t := e.leading()
		e.mu.Lock()
		began := e.began
		e.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case t != nil:
			return t, nil
		}
		select {
		case <-began:
		case <-e.done:
			return nil, e.err
		case <-ctx.Done():
		}
	}
}

// enter returns a context for what is done in the term.
func (t *term) enter(parent context.Context) (ctx context.Context, exit func()) {
	ctx, cancel := context.WithCancelCause(writes.WithGate(parent, t.gate))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why != nil {
		cancel(t.why)
	} else {
		t.members[&cancel] = struct{}{}
	}
	return ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.members, &cancel)
		cancel(nil)
	}
}

// gate lets a write begin, if the term is not over by the clocks.
func (t *term) gate() (leave func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.check() {
		return nil, fmt.Errorf("lease %s: this process no longer leads, so no write begins: %w: %w", t.key, t.why, context.Canceled)
	}
	t.inFlight++
	return t.wrote, nil
}

// wrote says that a write has ended.
func (e *election) wrote() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inFlight--
	e.settle()
}
