package informer

import (
	"context"
	"errors"
	"fmt"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/reflector"
)

// Status says how fresh the copy is, and what keeps it from being fresher. The sink of this
// reflector is the queue, so Status describes the queue. The store follows when the consumer has
// taken the entries that wait in the queue. [Informer.Synced] and [Informer.WaitForVersion] wait
// for the store.
//
// A function of [reflector.Trace] must not call Status.
func (in *Informer[T]) Status() reflector.Status { return in.reflector.Status() }

// WaitForVersion waits until the store has everything up to a resourceVersion. If a program passes
// the version that a write returned, it can read its own write afterwards. When WaitForVersion has
// returned nil, the store's version is that version or a newer one. Handlers may not have been
// called yet.
//
// If ctx ends first, WaitForVersion returns ctx.Err(). If Run ends or has ended, it returns an
// error that satisfies errors.Is with [ErrStopped]. If the version is not a decimal number, it
// returns an error at once. A program may call WaitForVersion before Run. WaitForVersion does not
// wait for objects that could not be used: [reflector.Status] names them.
//
// Callbacks may call WaitForVersion. Index functions and the functions of [reflector.Trace] must
// neither call it nor wait for another goroutine that calls it. The consumer runs the index
// functions, and the reflector runs the functions of the trace, so each would wait for itself.
func (in *Informer[T]) WaitForVersion(ctx context.Context, resourceVersion string) error {
	err := in.queue.WaitForVersion(ctx, resourceVersion)
	if errors.Is(err, deltafifo.ErrClosed) {
		return fmt.Errorf("informer: wait for resourceVersion %s: %w", resourceVersion, ErrStopped)
	}
	return err
}

// Relist lists the most recent state now, whatever the informer is doing, and waits until the store
// has it. It is for a program that knows, or suspects, that the copy is wrong. Handlers get the
// differences, and may not have been called yet. If ctx or Run ends first, Relist returns the same
// errors as [Informer.WaitForVersion]. The functions that must not call WaitForVersion must not
// call Relist.
func (in *Informer[T]) Relist(ctx context.Context) error {
	err := in.part.Relist(ctx)
	if errors.Is(err, deltafifo.ErrClosed) {
		return fmt.Errorf("informer: relist: %w", ErrStopped)
	}
	return err
}

// Stats are numbers for metrics, beside those of [Informer.Status].
type Stats struct {
	Objects int // in the store
	Queued  int // objects with changes that have come and are not in the store yet

	// Handlers are those that were added and have not ended, in the order in which they were added.
	Handlers []HandlerStats
}

// HandlerStats are the numbers of one handler.
type HandlerStats struct {
	Name    string // Handler.Name
	Pending int    // objects with a change that the handler has not got yet
}

// Stats returns the numbers as they are now. Callbacks may call it, and the functions of
// [reflector.Trace], too.
func (in *Informer[T]) Stats() Stats {
	s := Stats{Objects: in.store.Len(), Queued: in.queue.Len()}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, h := range in.members {
		if !h.hasQuit() {
			s.Handlers = append(s.Handlers, HandlerStats{Name: h.handler.Name, Pending: h.len()})
		}
	}
	return s
}
