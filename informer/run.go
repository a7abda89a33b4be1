package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/relist-go/relist/internal/goexit"
)

// lifetime is how an informer starts and stops. It runs once. The cache's mu guards the fields, but
// not the channels.
//
// A Run has two contexts. While the context feeding lives, requests are sent, and the consumer
// takes entries. While the context telling lives, callbacks begin. Stop ends feeding. Four things
// end telling, and feeding with it: the end of Run's context, an error for which Reflector.Fatal
// returns true, a function of the program that ends its goroutine, and the end of Stop's context.
// The rest is always the same:
//
//  1. The consumer finishes its entry, and takes no more. From here on, nobody can add a handler.
//  2. It waits until the reflectors have ended. If there is a Checkpoint, it saves the store. It closes the queues.
//  3. If telling lives, it admits the handlers that were added, and gives each handler a mark behind its last change.
//  4. It closes ended: the store does not change any more, so nothing is worth waiting for.
//  5. It waits until each handler has reached its mark, or until telling ends. Then it ends the handlers and observers, and waits
//     for the callbacks that still run.
//  6. Run closes over, and returns. So do the calls of Stop.
//
// If Stop comes before Run, handlers end without a call, and both channels are closed.
type lifetime struct {
	endFeeding context.CancelFunc // nil if Run was not called
	endTelling context.CancelCauseFunc
	stopped    bool // a Run is at step 1 or later, or there will be none
	drained    bool // each handler was told all that the store had
	ended      chan struct{}
	over       chan struct{}
}

// errCut ends telling if the context of Stop ends.
var errCut = errors.New("informer: stopped")

func (c *cache[T]) runFrom(ctx context.Context, from queues[T]) error {
	telling, endTelling := context.WithCancelCause(ctx)
	defer endTelling(nil)
	feeding, endFeeding := context.WithCancel(telling)
	defer endFeeding()
	if err := c.start(endFeeding, endTelling); err != nil {
		return err
	}
	con := consumer[T]{cache: c, from: from}
	err := goexit.Call(func() error {
		from.begin(feeding, endTelling)
		con.run(telling, feeding)
		con.stop(telling)
		return nil
	})
	if err != nil {
		con.exited = true
		endTelling(fmt.Errorf("informer: an observer, an index function, or a Checkpoint: %w", err))
		con.stop(telling)
	}
	close(c.over)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := context.Cause(telling); !errors.Is(err, errCut) {
		return err
	}
	return nil
}

func (c *cache[T]) start(endFeeding context.CancelFunc, endTelling context.CancelCauseFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.endFeeding != nil:
		return ErrStarted
	case c.stopped:
		return fmt.Errorf("informer: run: %w", ErrStopped)
	}
	c.endFeeding, c.endTelling = endFeeding, endTelling
	return nil
}

// stop is steps 1 to 5 of a [lifetime], after the consumer has taken its last entry.
func (c *consumer[T]) stop(telling context.Context) {
	c.mu.Lock()
	c.stopped, c.members = true, nil
	c.mu.Unlock()
	c.from.end(c)
	if telling.Err() == nil {
		c.attend(telling)
		c.markSynced()
		for _, s := range c.handlers {
			s.finish()
		}
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	close(c.ended) // a callback may be waiting for it
	c.drain(telling)
	joining, observing := c.takeJoining()
	for _, s := range slices.Concat(c.handlers, joining) {
		s.stop()
	}
	for _, o := range slices.Concat(c.observers, observing) {
		o.stop()
	}
	c.dropObservers()
	c.goroutines.Wait()
}

// drain waits until every handler has ended, or until the context telling has ended.
func (c *consumer[T]) drain(telling context.Context) {
	for _, s := range c.handlers {
		select {
		case <-s.done:
		case <-telling.Done():
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drained = telling.Err() == nil
}

func (c *cache[T]) stopFrom(ctx context.Context, from queues[T]) error {
	if c.beginStop() {
		from.end(nil)
		close(c.ended)
		close(c.over)
	}
	select {
	case <-c.over:
	default: // if the informer has stopped, ctx does not matter
		select {
		case <-c.over:
		case <-ctx.Done():
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.endTelling != nil {
				c.endTelling(errCut)
			}
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

// beginStop ends feeding. If there was no Run, beginStop makes sure that there will be none, and
// returns true.
func (c *cache[T]) beginStop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endFeeding != nil {
		c.endFeeding()
		return false
	}
	if c.stopped {
		return false
	}
	c.stopped, c.drained = true, true
	for _, s := range c.joining {
		s.stop()
	}
	for _, o := range c.observing {
		o.stop()
	}
	c.joining, c.observing = nil, nil
	return true
}

// IsStopped reports whether the informer has stopped or is about to: AddHandler and Observe return
// an error from then on.
func (c *cache[T]) IsStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}
