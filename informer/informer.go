package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// Informer keeps a store in step with a resource, and calls handlers. All methods may be called from any goroutine.
type Informer[T object.Object] struct {
	store     *store.Store[T]
	queue     *deltafifo.Queue[T]
	reflector *reflector.Reflector[T]
	problem   func(error)
	bell      bell
	keyed     keyWaiters

	checkpoints *checkpoints[T] // nil if there are none

	ended chan struct{} // closed when the consumer has taken its last entry

	mu      sync.Mutex
	phase   phase
	fail    context.CancelCauseFunc // ends Run with an error; set while it runs
	joining []*subscriber[T]        // added, and not yet taken by the consumer

	observing []*observer[T] // added, and not yet taken by the consumer
}

// ErrStarted is what a second [Informer.Run] returns: an informer runs once.
var ErrStarted = errors.New("informer: Run was called before; make a new informer")

// ErrStopped is in the errors of [Informer.AddHandler], [Informer.WaitFor] and [Informer.Relist] if Run has ended or is about
// to end.
var ErrStopped = errors.New("the informer has stopped")

// phase says whether an informer has started and whether it has stopped. An informer runs once, so a phase never comes again.
type phase uint8

const (
	fresh phase = iota
	running
	stopped
)

// New returns an Informer that has not started.
func New[T object.Object](lw listwatch.ListWatcher[T], opts Options[T]) *Informer[T] {
	in := &Informer[T]{
		store:   store.New(store.Options[T]{Indexers: opts.Indexers, Bookmarked: true}),
		problem: opts.Problem,
		ended:   make(chan struct{}),
	}
	in.queue = deltafifo.New(deltafifo.Options[T]{
		Known:    in.store,
		Coalesce: true, // handlers get the latest state, not each one, so the queue need not keep more
		Passed:   in.store.SetResourceVersion,
	})
	opts.Reflector.Resync = -1 // each handler has a resync of its own
	opts.Reflector.Trace = opts.trace(lw)
	var sink reflector.Sink[T] = in.queue
	if opts.Checkpoint != nil {
		in.checkpoints = newCheckpoints(lw, &opts, opts.logger(lw), in.bell.ring)
		sink = countingQueue[T]{in.queue, in.checkpoints}
	}
	in.reflector = reflector.New(lw, sink, opts.Reflector)
	return in
}

// Store returns the cache. Until [Informer.Synced], it is incomplete.
func (in *Informer[T]) Store() Reader[T] { return in.store }

// Synced returns a channel that is closed once the store holds the first list. Handlers may get the last of its objects later:
// see [Registration.Synced].
func (in *Informer[T]) Synced() <-chan struct{} { return in.queue.Synced() }

// Loaded returns a channel that is closed once Run has loaded the copy of Options.Checkpoint, or has found that there is none. Then
// Store().ResourceVersion() tells which: it is empty if there is none. Without a Checkpoint, the channel is never closed.
func (in *Informer[T]) Loaded() <-chan struct{} {
	if in.checkpoints == nil {
		return nil
	}
	return in.checkpoints.loaded
}

// HasSynced reports whether the channel that [Informer.Synced] returns is closed. [Informer.WaitForSync] waits, and says what is
// in the way.
func (in *Informer[T]) HasSynced() bool { return in.queue.HasSynced() }

// AddHandler adds a handler, and does not wait. A program may call AddHandler at any time, also from a callback. If the informer
// runs already, the handler first gets an OnAdd with initial set for every object in the store, and then every change, in order.
// A program may add the same Handler several times. The informer may call the callbacks before AddHandler has returned.
//
// If Run has ended or is about to end, AddHandler returns an error that satisfies errors.Is with [ErrStopped].
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

// Run lists, watches and calls handlers until ctx ends, and returns ctx.Err(). If Options.Problem is nil and code of the program
// panics, Run ends, and returns a [*PanicError] or an error that wraps a [*store.IndexError].
//
// Errors of the server do not end Run, unless Options.Reflector.Fatal says so. They are reported to Options.Logger and
// Options.Reflector.Trace, and the request is sent again.
//
// Once ctx has ended, or code has panicked, no further callback begins, and pending changes are dropped. Run waits for the
// callbacks that are running, so a callback that never returns keeps Run from returning. When Run returns, every goroutine that it
// started has ended. The store stays as it is.
func (in *Informer[T]) Run(ctx context.Context) error {
	inner, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if !in.start(fail) {
		return ErrStarted
	}
	in.load(inner)
	var reflecting sync.WaitGroup
	reflecting.Go(func() { fail(in.reflector.Run(inner)) })
	c := consumer[T]{Informer: in}
	c.run(inner)
	c.stop(&reflecting) //nolint:contextcheck // the context of Run has ended; the last save has one of its own
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

// report calls Options.Problem with a panic of the program's code. If Problem is nil, report ends Run with that panic.
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
