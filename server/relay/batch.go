package relay

import (
	"context"
	"sync"
	"time"
)

// A batch runs a function for all who wait, so that each gets the result of a run that began after
// its call.
type batch[T any] struct {
	run func(context.Context) (T, error)

	mu      sync.Mutex
	running bool
	next    *outcome[T] // what those wait for who came during a run; nil if nobody did
}

type outcome[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// batchTimeout bounds a run, for which nobody may wait any more.
const batchTimeout = 10 * time.Second

func (b *batch[T]) do(ctx context.Context) (value T, err error) {
	b.mu.Lock()
	if b.next == nil {
		b.next = &outcome[T]{done: make(chan struct{})}
		if !b.running {
			b.running = true
			go b.loop() //nolint:contextcheck // others may wait for the run when this caller has gone
		}
	}
	mine := b.next
	b.mu.Unlock()
	select {
	case <-mine.done:
		return mine.value, mine.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// loop runs until nobody waits.
func (b *batch[T]) loop() {
	for {
		b.mu.Lock()
		now := b.next
		b.next, b.running = nil, now != nil
		b.mu.Unlock()
		if now == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
		now.value, now.err = b.run(ctx)
		cancel()
		close(now.done)
	}
}
