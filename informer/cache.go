package informer

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// cache is a store with its handlers and observers: everything of an informer except the way to the
// server. An [Informer] and a [MultiNamespace] have its exported methods.
type cache[T object.Object] struct {
	store   *store.Store[T]
	ordered bool   // no handler is told of a later change before its OnSynced
	wake    wakeup // of the consumer, which then looks at handlers and resyncs
	keyed   keyWaiters
	log     *slog.Logger // of this informer alone; changed by setName, before Run

	mu sync.Mutex
	lifetime
	joining   []*subscriber[T] // added, and not yet taken by the consumer
	members   []*subscriber[T] // added, and not known to have ended; for Stats
	observing []*observer[T]   // added, and not yet taken by the consumer
}

func newCache[T object.Object](opts *Options[T]) *cache[T] {
	log := *opts.logger()
	opts.Logger = &log // who uses it later has the name
	return &cache[T]{
		log:      &log,
		store:    store.New(store.Options[T]{Indexers: opts.Indexers, VersionFromMarks: true}),
		wake:     newWakeup(),
		lifetime: lifetime{ended: make(chan struct{}), over: make(chan struct{})},
	}
}

// setName adds the name in a Group to the log, unless somebody else runs the informer already.
func (c *cache[T]) setName(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endFeeding == nil {
		*c.log = *c.log.With("member", name)
	}
}

// wakeup wakes one goroutine, which receives from it. It holds a token from a signal until then.
type wakeup chan struct{}

func newWakeup() wakeup { return make(wakeup, 1) }

// signal never blocks, and any goroutine may call it.
func (w wakeup) signal() {
	select {
	case w <- struct{}{}:
	default: // there is a token already
	}
}

func (w wakeup) take() bool {
	select {
	case <-w:
		return true
	default:
		return false
	}
}

// AddHandler adds a handler, and does not wait. A program may call AddHandler at any time, also
// from a callback. If the informer runs already, the handler first gets an OnAdd with initial set
// for every object in the store, and then every change, in order. A program may add the same
// Handler several times. The informer may call the callbacks before AddHandler has returned.
//
// If Run has ended or is about to end, AddHandler returns an error that satisfies errors.Is with
// [ErrStopped].
func (c *cache[T]) AddHandler(h Handler[T]) (*Registration, error) {
	s := newSubscriber(h, c.wake.signal)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, fmt.Errorf("informer: add handler %q: %w", h.Name, ErrStopped)
	}
	c.joining = append(c.joining, s)
	c.members = append(c.members, s)
	c.wake.signal()
	return s.Registration, nil
}
