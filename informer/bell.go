package informer

import (
	"context"
	"sync"
)

// bell calls the consumer away from the queue, where it waits in Pop, to look at something else.
type bell struct {
	mu     sync.Mutex
	rung   bool // and not heard yet
	cancel context.CancelFunc
}

// ring ends the context that hear returned last. It never blocks, and may be called from anywhere.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rung = true
	if b.cancel != nil {
		b.cancel()
	}
}

// hear reports whether the bell was rung since the last time, and if it was, returns a new context to wait with.
func (b *bell) hear(parent, current context.Context) (context.Context, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.rung {
		return current, false
	}
	if b.cancel != nil {
		b.cancel()
	}
	b.rung = false
	current, b.cancel = context.WithCancel(parent)
	return current, true
}
