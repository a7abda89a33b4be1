package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// cache is a store with its handlers and observers: everything of an informer except the way to the server.
type cache[T object.Object] struct {
	store   *store.Store[T]
	ordered bool // no handler is told of a later change before its OnSynced
	bell    bell
	keyed   keyWaiters
	ended   chan struct{} // closed when the consumer has taken its last entry
	over    chan struct{} // closed when Run has nothing left to do, or will never begin

	mu        sync.Mutex
	phase     phase
	fail      context.CancelCauseFunc // ends Run with an error; set while it runs
	quit      context.CancelFunc      // ends Run after handlers were told what is pending; set while it runs
	drained   bool                    // handlers were told all that the store had when it stopped
	joining   []*subscriber[T]        // added, and not yet taken by the consumer
	members   []*subscriber[T]        // added, and not known to have ended; for Stats
	observing []*observer[T]          // added, and not yet taken by the consumer
}

// phase says whether an informer has started and whether it has stopped. An informer runs once, so a phase never comes again.
type phase uint8

const (
	fresh phase = iota
	running
	stopped
)

func newCache[T object.Object](opts *Options[T]) *cache[T] {
	return &cache[T]{
		store: store.New(store.Options[T]{Indexers: opts.Indexers, Bookmarked: true}),
		ended: make(chan struct{}),
		over:  make(chan struct{}),
	}
}

func (c *cache[T]) addHandler(h Handler[T]) (*Registration, error) {
	s := newSubscriber(h, c.bell.ring)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == stopped {
		return nil, fmt.Errorf("informer: add handler %q: %w", h.Name, ErrStopped)
	}
	c.joining = append(c.joining, s)
	c.members = append(c.members, s)
	c.bell.ring()
	return s.Registration, nil
}

// start makes the phase running.
func (c *cache[T]) start(fail context.CancelCauseFunc, quit context.CancelFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.fail != nil:
		return ErrStarted
	case c.phase == stopped:
		return fmt.Errorf("informer: run: %w", ErrStopped)
	}
	c.phase, c.fail, c.quit = running, fail, quit
	return nil
}

// isStopped reports whether the phase is stopped.
func (c *cache[T]) isStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == stopped
}

// errCut ends a Run if the context of Stop ends before handlers were told everything.
var errCut = errors.New("informer: stopped")

// stopFrom is Stop: it ends Run, and waits until handlers were told what is pending.
func (c *cache[T]) stopFrom(ctx context.Context, from supply[T]) error {
	c.beginStop(from)
	select {
	case <-c.over:
	default:
		select {
		case <-c.over:
		case <-ctx.Done():
			c.cut()
			return ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drained {
		return fmt.Errorf("informer: stop: not every change was told: %w", ErrStopped)
	}
	return nil
}

// cut ends Run, if there is one, although handlers were not told everything.
func (c *cache[T]) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		c.fail(errCut)
	}
}

// beginStop tells the consumer of a Run to end. If there was no Run, beginStop makes sure that there will be none.
func (c *cache[T]) beginStop(from supply[T]) {
	if !c.abandon() {
		return
	}
	from.end(nil)
	close(c.ended)
	close(c.over)
}

// abandon tells a Run that it has to end. If the phase is fresh, abandon ends the cache and returns true.
func (c *cache[T]) abandon() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.phase {
	case running:
		c.quit()
		return false
	case stopped:
		return false
	case fresh:
	}
	c.phase, c.drained = stopped, true
	for _, s := range c.joining {
		s.end(ErrStopped)
	}
	for _, o := range c.observing {
		o.end(ErrStopped)
	}
	c.joining, c.observing = nil, nil
	return true
}
