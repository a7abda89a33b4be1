package informer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

// consumer is one Run: the goroutine that takes from the queue, owns the store, and feeds the handlers. What it does
// between two entries sees the store and what handlers were told agree.
type consumer[T store.Object] struct {
	*Informer[T]
	handlers   []*subscriber[T]
	goroutines sync.WaitGroup
	processed  uint64      // entries of the queue
	milestones []milestone // not reached yet, in order
	newest     string      // version of an event that was applied, to which the store's has not come
	synced     bool        // and the handlers have their marks
	timer      *time.Timer
}

// run consumes until ctx ends.
func (c *consumer[T]) run(ctx context.Context) {
	waiting := ctx
	taken := false
	process := func(e deltafifo.Entry[T]) error {
		taken = true
		defer func() { c.processed++ }()
		return c.apply(e)
	}
	c.bell.ring() // for those who are there already
	for ctx.Err() == nil {
		var rung bool
		waiting, rung = c.bell.hear(ctx, waiting)
		c.attend(rung)
		c.drained()
		taken = false
		// Without an entry, err says that the bell was rung or that ctx has ended.
		if err := c.queue.Pop(waiting, process); err != nil && taken {
			c.report(err)
		}
	}
}

// attend does what is to be done between two entries.
func (c *consumer[T]) attend(rung bool) {
	if !c.synced && c.queue.HasSynced() {
		c.synced = true
		for _, s := range c.handlers {
			s.markSynced()
		}
	}
	if rung {
		c.handlers = slices.DeleteFunc(c.handlers, func(s *subscriber[T]) bool { return isClosed(s.quit) })
		joining, milestones := c.news()
		for _, s := range joining {
			c.admit(s)
		}
		c.plan(milestones)
		c.remind(time.Now())
	}
	c.pass()
}

// news takes what others have left for the consumer.
func (c *consumer[T]) news() ([]*subscriber[T], []milestone) {
	c.mu.Lock()
	defer c.mu.Unlock()
	joining, milestones := c.joining, c.Informer.milestones
	c.joining, c.Informer.milestones = nil, nil
	return joining, milestones
}

// admit lets a handler in, with the store as it is now.
func (c *consumer[T]) admit(s *subscriber[T]) {
	if !s.begin() {
		return // removed before it began
	}
	s.resync = newResync(s.handler.Resync, time.Now())
	s.replay(c.store.Snapshot())
	if c.synced {
		s.markSynced()
	}
	c.handlers = append(c.handlers, s)
	c.goroutines.Go(s.run)
}

// remind does the resyncs that are due, and has the bell rung for the next.
func (c *consumer[T]) remind(now time.Time) {
	var next time.Time
	for _, s := range c.handlers {
		if s.resync == nil {
			continue
		}
		s.remind(now, c.store)
		if at := s.resync.at(); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	switch {
	case next.IsZero():
	case c.timer == nil:
		c.timer = time.AfterFunc(next.Sub(now), c.bell.ring)
	default:
		c.timer.Reset(next.Sub(now))
	}
}

// stop ends every handler and waits for it.
func (c *consumer[T]) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Lock()
	c.phase = stopped
	joining := c.joining
	c.joining = nil
	c.mu.Unlock()
	c.queue.Close()
	close(c.ended) // a callback may be waiting for it
	for _, s := range slices.Concat(c.handlers, joining) {
		s.end()
	}
	c.goroutines.Wait()
}
