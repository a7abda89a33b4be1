package informer

import (
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

	mu sync.Mutex
	lifetime
	joining   []*subscriber[T] // added, and not yet taken by the consumer
	members   []*subscriber[T] // added, and not known to have ended; for Stats
	observing []*observer[T]   // added, and not yet taken by the consumer
}

func newCache[T object.Object](opts *Options[T]) *cache[T] {
	return &cache[T]{
		store:    store.New(store.Options[T]{Indexers: opts.Indexers, VersionFromMarks: true}),
		bell:     make(bell, 1),
		lifetime: lifetime{ended: make(chan struct{}), over: make(chan struct{})},
	}
}

// bell wakes the consumer, which then looks at handlers and resyncs. It holds a token from a ring until the consumer hears it.
type bell chan struct{}

// ring never blocks, and any goroutine may call it.
func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default: // it was rung already
	}
}

func (c *cache[T]) addHandler(h Handler[T]) (*Registration, error) {
	s := newSubscriber(h, c.bell.ring)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, fmt.Errorf("informer: add handler %q: %w", h.Name, ErrStopped)
	}
	c.joining = append(c.joining, s)
	c.members = append(c.members, s)
	c.bell.ring()
	return s.Registration, nil
}
