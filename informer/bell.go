package informer

import (
	"context"
	"sync"
)

// bell interrupts the consumer while it waits in Pop, so that the consumer looks at handlers and resyncs. The consumer waits with
// a context that hear returns, and ring ends that context.
type bell struct {
	mu     sync.Mutex
	rung   bool // since the last call of hear
	cancel context.CancelFunc
}

// ring wakes the consumer. It never blocks, and any goroutine may call it.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rung = true
	if b.cancel != nil {
		b.cancel()
	}
}

// hear reports whether the bell was rung since the last call of hear. If so, hear returns a new context for Pop to wait with, and
// otherwise the current one.
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
