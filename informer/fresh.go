package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/reflector"
)

// Status says how fresh the copy is, and what keeps it from being fresher. What it says of the sink is true of the store
// once that has worked off what waits for it: use [Informer.Synced] and [Informer.WaitFor] to know that it has.
//
// It must not be called from a function of [reflector.Trace].
func (in *Informer[T]) Status() reflector.Status { return in.reflector.Status() }

// WaitFor waits until the store has everything up to a resourceVersion: the one that a write returned, say, so that the
// program reads its own write. The store's version is that one then, or a newer one. Handlers may not have been told yet.
//
// It returns ctx.Err() if ctx ends before, an error that satisfies errors.Is with [ErrStopped] if Run does or has ended,
// and at once an error for a version that is not a decimal number. Before Run it waits for it. Objects that could not be
// used are not waited for: [reflector.Status] and [Options.Problem] name them.
//
// A callback may call it, and [Options.Problem]. An index function, a function of [reflector.Trace] and one that they wait
// for must not: what is waited for would wait for them.
func (in *Informer[T]) WaitFor(ctx context.Context, resourceVersion string) error {
	err := in.queue.WaitFor(ctx, resourceVersion)
	if errors.Is(err, deltafifo.ErrClosed) {
		return fmt.Errorf("informer: wait for resourceVersion %s: %w", resourceVersion, ErrStopped)
	}
	return err
}

// Relist lists the most recent state now, whatever the informer is doing, and waits until the store has it: for a program
// that knows, or fears, that the copy is wrong. Handlers, who are told what differs, may not have been told yet. Errors
// are those of [Informer.WaitFor], and the same must not call it.
func (in *Informer[T]) Relist(ctx context.Context) error {
	err := in.untilEnd(ctx, in.reflector.Relist)
	if err == nil {
		err = in.queue.Wait(ctx)
	}
	if errors.Is(err, deltafifo.ErrClosed) {
		return fmt.Errorf("informer: relist: %w", ErrStopped)
	}
	return err
}

// untilEnd calls wait with a context that ends with the informer too, and returns [deltafifo.ErrClosed] if that was it.
func (in *Informer[T]) untilEnd(ctx context.Context, wait func(context.Context) error) error {
	live, end := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end()
	watching.Go(func() {
		select {
		case <-in.ended:
			end()
		case <-live.Done():
		}
	})
	err := wait(live)
	if err != nil && ctx.Err() == nil && isClosed(in.ended) {
		return deltafifo.ErrClosed
	}
	return err
}
