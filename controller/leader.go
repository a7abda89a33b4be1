package controller

import (
	"context"
	"sync"
)

// standby returns the queue of a process that does not lead: sources make no keys for it.
func standby() *Queue[string] {
	q := NewQueue[string](QueueOptions{})
	q.Close()
	return q
}

// lead works in each term of this process as the leader, until ctx ends or the queue is closed.
func (c *running) lead(ctx context.Context, opts Options, sources []Source) {
	c.workers.Go(func() {
		select {
		case <-c.queue.idle: // closed, and nobody works on a key
			c.fail(ErrClosed) // in a standby no worker sees it
		case <-ctx.Done():
		}
	})
	c.fail(opts.Leader.Lead(ctx, func(ctx context.Context) error { return c.term(ctx, opts.Workers, sources) }))
}

// term works until ctx ends or the queue is closed. It begins when the caches have what the last
// leader wrote, with the keys of all objects; and nothing is left of it, because the next leader
// begins in the same way.
func (c *running) term(ctx context.Context, workers int, sources []Source) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer c.failures.forget()
	if !c.begin(ctx, goals(ctx, sources)) {
		return ErrClosed
	}
	defer c.queue.forget()
	registrations, err := observe(c.queue, sources)
	if err != nil {
		return err
	}
	defer remove(registrations)
	if c.awaitSync(ctx, sources, registrations) {
		var term sync.WaitGroup
		for range max(workers, 1) {
			term.Go(func() { c.work(ctx) })
		}
		term.Wait()
	}
	end()
	c.holding.Wait()
	return ErrClosed // if the term is over, the leader waits for the next
}
