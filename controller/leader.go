package controller

import (
	"context"
	"fmt"
	"sync"
)

// standby returns the queue of a process that does not lead: sources make no keys for it.
func standby() *Queue[string] {
	q := NewQueue[string](QueueOptions{})
	q.Close()
	return q
}

// lead works in each term of this process as the leader, until ctx ends or the queue is closed.
func (c *running) lead(ctx context.Context, fail context.CancelCauseFunc, opts Options, sources []Source) {
	c.workers.Go(func() {
		select {
		case <-c.queue.idle: // closed, and nobody works on a key
			fail(ErrClosed) // in a standby no worker sees it
		case <-ctx.Done():
		}
	})
	fail(opts.Leader.Lead(ctx, func(ctx context.Context) error { return c.term(ctx, fail, opts.Workers, sources) }))
}

// term works until ctx ends or the queue is closed. Every object has its key in the queue when it
// begins, and none of the last term is left: another leader has worked on all of them.
func (c *running) term(ctx context.Context, fail context.CancelCauseFunc, workers int, sources []Source) error {
	if err := catchUp(ctx, sources); err != nil {
		return err
	}
	defer func() {
		c.queue.forget()
		c.failures.forget()
	}()
	registrations, err := observe(c.queue, sources)
	if err != nil {
		return err
	}
	defer remove(registrations)
	if c.awaitSync(ctx, sources, registrations) {
		var term sync.WaitGroup
		for range max(workers, 1) {
			term.Go(func() { c.work(ctx, fail) })
		}
		term.Wait()
	}
	return ErrClosed // if the term is over, the leader waits for the next
}

// catchUp waits until each cache is as new as the server was when the term began: it has what the
// last leader wrote.
func catchUp(ctx context.Context, sources []Source) error {
	done := map[any]bool{}
	for _, s := range sources {
		if done[s.informer] {
			continue
		}
		done[s.informer] = true
		if in, ok := s.informer.(interface{ Relist(context.Context) error }); ok {
			if err := in.Relist(ctx); err != nil {
				return fmt.Errorf("controller: %s: %w", s.name, err)
			}
		}
	}
	return nil
}
