package informer

import (
	"context"
	"errors"
	"sync"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// Informer keeps a store in step with a resource, and calls handlers. All methods may be called
// from any goroutine.
type Informer[T object.Object] struct {
	*cache[T]
	queue     *deltafifo.Queue[T]
	reflector *reflector.Reflector[T]
	part      *part[T]
	feeding   sync.WaitGroup // the goroutines that begin starts

	checkpoints *checkpoints[T] // nil if there are none
}

// ErrStarted is what a second [Informer.Run] returns: an informer runs once.
var ErrStarted = errors.New("informer: Run was called before; make a new informer")

// ErrStopped is in the errors of [Informer.AddHandler], [Informer.WaitForVersion] and other methods
// if Run has ended or is about to end.
var ErrStopped = errors.New("the informer has stopped")

// New returns an Informer that has not started.
func New[T object.Object](lw source.ListWatcher[T], opts Options[T]) *Informer[T] {
	in := &Informer[T]{cache: newCache(&opts)}
	in.ordered = opts.Checkpoint == nil
	in.queue = deltafifo.New(deltafifo.Options[T]{
		Known:        in.store,
		Coalesce:     true, // nobody is told of a state that was never in the store, so the queue need not keep it
		OnMarkPassed: in.store.SetResourceVersion,
	})
	opts.Reflector.Resync = -1               // each handler has a resync of its own
	opts.Reflector.Start = reflector.Point{} // the store is empty; or a Checkpoint fills it, and then says where to begin
	opts.Reflector.Trace = opts.trace()
	sink := reflector.Sink[T](reflector.InQueue(in.queue))
	if opts.Checkpoint != nil {
		in.checkpoints = newCheckpoints(lw, &opts, in.wake)
		sink = countingSink[T]{reflector.InQueue(in.queue), in.checkpoints}
	}
	in.reflector = reflector.New(lw, sink, opts.Reflector)
	in.part = &part[T]{in.cache, lw, in.queue, in.reflector, nil}
	return in
}

// Store returns the cache. Until [Informer.Synced], it is incomplete.
func (in *Informer[T]) Store() Reader[T] { return in.store }

// Synced returns a channel that is closed once the store has the first list and its
// resourceVersion. Handlers may get the last of its objects later: see [Registration.Synced].
func (in *Informer[T]) Synced() <-chan struct{} { return in.queue.Synced() }

// Loaded returns a channel that is closed once Run has loaded the copy of Options.Checkpoint, or
// has found that there is none. Then Store().ResourceVersion() tells which: it is empty if there
// was no copy. Without a Checkpoint, the channel is never closed.
func (in *Informer[T]) Loaded() <-chan struct{} {
	if in.checkpoints == nil {
		return nil
	}
	return in.checkpoints.loaded
}

// HasSynced reports whether the channel that [Informer.Synced] returns is closed.
// [Informer.WaitForSync] waits, and says what is in the way.
func (in *Informer[T]) HasSynced() bool { return in.queue.HasSynced() }

// Run lists, watches and calls handlers until ctx ends, and returns ctx.Err().
//
// Errors of the server do not end Run, unless Options.Reflector.Fatal says so. They are reported to
// Options.Logger and Options.Reflector.Trace, and the request is sent again.
//
// Once ctx has ended, no further callback begins, and pending changes are dropped. Run waits for
// the callbacks that are running, so a callback that never returns keeps Run from returning. When
// Run returns, every goroutine that it started has ended; a connection that was just being made is
// given up, and may end a moment later. The store stays as it is.
//
// [Informer.Stop] ends Run without dropping what is pending, and then Run returns nil.
//
// If a function of the program panics, such as a callback, an index function or a transform, the
// program ends. If it calls runtime.Goexit, as t.FailNow does, Run ends and returns an error that
// says so.
func (in *Informer[T]) Run(ctx context.Context) error { return in.runFrom(ctx, in) }

// Stop ends Run, and lets handlers be told what is pending. The informer sends no more requests,
// and the store stays as it is from then on. Each handler gets every change that the store had by
// then. That also holds for a handler that was just added. When the last callback has returned,
// Stop returns nil, and Run does, too.
//
//	err := cache.WaitForVersion(ctx, written.ResourceVersion) // the store has everything up to that version
//	err = cache.Stop(ctx)                              // and so have the handlers
//
// If ctx ends first, Stop returns ctx.Err(): no further callback begins, and what is still pending
// is dropped. So if ctx has ended before the call, Stop has the same effect as the end of Run's
// context. If Run ends for another reason before everything was told, or has ended before Stop was
// called, the error satisfies errors.Is with [ErrStopped]. If Run was not called yet, Stop returns
// nil, and Run returns such an error.
//
// A callback must not call Stop, because Stop waits for callbacks. Several goroutines may call it:
// if the context of one ends, what is pending is dropped for all.
func (in *Informer[T]) Stop(ctx context.Context) error { return in.stopFrom(ctx, in) }

func (in *Informer[T]) begin(ctx context.Context, fail context.CancelCauseFunc) {
	if in.checkpoints != nil {
		in.load(ctx)
		in.checkpoints.begin(ctx, fail)
	}
	in.feeding.Go(func() {
		goexit.Run(func() error { return in.reflector.Run(ctx) }, func(err error) {
			if ctx.Err() == nil {
				fail(err)
			}
		})
	})
	in.feeding.Go(func() {
		select {
		case <-in.queue.Synced():
			in.wake.signal() // if the first list was empty, no entry comes
		case <-ctx.Done():
		}
	})
}

func (in *Informer[T]) take(ctx context.Context, c *consumer[T]) (woken bool) {
	if in.checkpoints != nil {
		in.checkpoints.offer(in.queue, in.store)
	}
	select {
	case <-in.wake:
		return true
	case <-in.queue.Ready():
		_, _ = in.queue.TryPop(c.process) // process never fails, and the queue is open
	case <-ctx.Done():
	}
	return false
}

func (in *Informer[T]) hasSynced() bool { return in.queue.HasSynced() }

func (in *Informer[T]) end(c *consumer[T]) {
	in.feeding.Wait() // the queue stays open until the reflector has ended
	if in.checkpoints != nil && c != nil {
		in.checkpoints.end(in.queue, c)
	}
	in.queue.Close()
}
