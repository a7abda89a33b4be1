package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// Informer keeps a store in step with a resource, and calls handlers. All methods may be called from any goroutine.
type Informer[T store.Object] struct {
	store     *store.Store[T]
	queue     *deltafifo.Queue[T]
	reflector *reflector.Reflector[T]
	problem   func(error)
	bell      bell
	ended     chan struct{} // closed when the consumer has taken its last entry

	mu      sync.Mutex
	phase   phase
	fail    context.CancelCauseFunc // ends Run with an error; set while it runs
	joining []*subscriber[T]        // added, and the consumer has not seen them yet
}

// ErrStarted is what a second [Informer.Run] returns: an informer runs once.
var ErrStarted = errors.New("informer: Run was called before; make a new informer")

// ErrStopped is what [Informer.AddHandler], [Informer.WaitFor] and [Informer.Relist] return, wrapped, when Run has ended or
// is about to.
var ErrStopped = errors.New("the informer has stopped")

// phase is where an informer is in its life, which it lives once.
type phase uint8

const (
	fresh phase = iota
	running
	stopped
)

// New returns an Informer that has not started.
func New[T store.Object](lw listwatch.ListWatcher[T], opts Options[T]) *Informer[T] {
	in := &Informer[T]{
		store:   store.New(store.Options[T]{Indexers: opts.Indexers, Bookmarked: true}),
		problem: opts.Problem,
		ended:   make(chan struct{}),
	}
	in.queue = deltafifo.New(deltafifo.Options[T]{
		Known:    in.store,
		Coalesce: true, // a consumer kept busy by a slow index function is owed the latest state, as a slow handler is
		Passed:   in.store.SetResourceVersion,
	})
	opts.Reflector.Resync = -1 // each handler has its own
	in.reflector = reflector.New(lw, in.queue, opts.Reflector)
	return in
}

// Store is the cache. Before [Informer.Synced] it holds only part of what there is.
func (in *Informer[T]) Store() Reader[T] { return in.store }

// Synced returns a channel that is closed once the store holds the first list. Handlers may be told of it later:
// [Registration.Synced] says when one has been.
func (in *Informer[T]) Synced() <-chan struct{} { return in.queue.Synced() }

// HasSynced reports whether the channel that [Informer.Synced] returns is closed.
func (in *Informer[T]) HasSynced() bool { return in.queue.HasSynced() }

// AddHandler makes h one of the handlers. It may be called at any time, also from a callback, and does not wait: a handler
// that is added while the informer runs is soon told of every object in the store, by OnAdd with initial set, and of every
// change since, in order. The same Handler may be added several times. Its callbacks may be called before AddHandler has
// returned.
//
// It is an error, which satisfies errors.Is with [ErrStopped], once Run has ended or is about to.
func (in *Informer[T]) AddHandler(h Handler[T]) (*Registration, error) {
	s := newSubscriber(h, in.report, in.bell.ring)
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.phase == stopped {
		return nil, fmt.Errorf("informer: add handler %q: %w", h.Name, ErrStopped)
	}
	in.joining = append(in.joining, s)
	in.bell.ring()
	return s.Registration, nil
}

// Run lists, watches and calls handlers until ctx ends, and returns ctx.Err(); or until code of the program's own panics,
// if Options.Problem is nil, and returns a [*PanicError] or what wraps a [*store.IndexError].
//
// Errors of the server do not end it: they are reported through Options.Reflector.Trace, and tried again.
//
// Once ctx has ended, or code has panicked, no callback begins any more. When Run returns every goroutine that it started
// has ended. It waits for the callbacks that are being called, so one that never returns keeps it; what is still pending is
// dropped. The store stays as it is.
func (in *Informer[T]) Run(ctx context.Context) error {
	inner, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if !in.start(fail) {
		return ErrStarted
	}
	var reflecting sync.WaitGroup
	reflecting.Go(func() { fail(in.reflector.Run(inner)) })
	c := consumer[T]{Informer: in}
	c.run(inner)
	c.stop(&reflecting)
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Cause(inner)
}

func (in *Informer[T]) start(fail context.CancelCauseFunc) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.phase != fresh {
		return false
	}
	in.phase, in.fail = running, fail
	return true
}

// report tells the program of a panic in code of its own, or ends Run with it.
func (in *Informer[T]) report(err error) {
	if in.problem != nil {
		in.problem(err)
		return
	}
	in.mu.Lock()
	fail := in.fail
	in.mu.Unlock()
	fail(err)
}
