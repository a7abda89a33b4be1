package informer

import (
	"context"
	"sync"
	"time"

	"github.com/relist-go/relist/object"
)

// Handler is a set of callbacks, in the manner of net/http/httptrace.ClientTrace: any of them may
// be nil.
//
// They are called one at a time, on a goroutine that belongs to this handler alone, and may take as
// long as they need. The changes of one object come in the order in which they happened. The
// informer merges the changes that wait, so that an object never has more than one pending change:
//
//   - Updates become one update: old is the state that the handler was told last, and
//     new is the latest state.
//   - A deletion and a re-creation stay OnDelete and then OnAdd, and never become an update.
//   - An object that is created and deleted before its OnAdd was called gets no callback, even if the OnDelete of an earlier
//     object with the same name is still pending.
//
// When a callback is called, the store and its indexes have the change already. They may have later
// changes, too.
//
// A relist brings most objects unchanged. If an object has the same UID, resourceVersion and
// content as the object in the store, the informer calls no callback. The informer compares the
// content, too, because a server that was restored from a backup uses its versions again, and
// because some objects have no version.
type Handler[T object.Object] struct {
	// OnAdd is called for an object that is new to the handler. initial is true if the object was
	// in the first list, or in the store when the handler was added. When the last OnAdd with
	// initial true has returned, OnSynced is called.
	OnAdd func(obj T, initial bool)

	// OnUpdate is called with the last state that the handler was given, and the latest state. On a
	// resync both are the same.
	OnUpdate func(old, obj T)

	// OnDelete is called with the last known state. If inferred is false, an event reported the
	// deletion, and obj is the state in that event. If inferred is true, the informer has not seen
	// the final state: usually a list lacked the object, or had another object with its name. The
	// object may then have changed after the state in obj and before its deletion. inferred is also
	// true if the handler loses an object that may still exist: see [MultiNamespace.Remove].
	OnDelete func(obj T, inferred bool)

	// OnSynced is called once, when the handler has been told of every object that was in the first
	// list, or in the store when the handler was added. That is after the last OnAdd with initial
	// true has returned, and before the handler is told of a later change. OnSynced is also called
	// if there are no such objects, or if none passes the Filter. A relist does not call it again.
	// If the handler is removed before, or if Run ends before, OnSynced is not called.
	// [Registration.Synced] is closed when OnSynced has returned, so OnSynced must not wait for
	// that channel.
	//
	// In a [MultiNamespace], OnSynced waits for the first list of every namespace that there is.
	// Meanwhile, the handler is told of changes in namespaces whose list has come. Objects of a
	// namespace that is added later come after OnSynced, with initial true. If there is an
	// Options.Checkpoint, OnSynced waits for [Informer.Synced], and the handler may be told before
	// of what has changed since the copy was saved.
	OnSynced func()

	// Filter chooses the objects that the handler is told of: those for which it returns true. If
	// nil, it is told of all. If Filter begins to return true for an object, OnAdd is called. If
	// Filter no longer returns true for it, OnDelete is called with the last state that the handler
	// was given, and with inferred false, although the object still exists. The informer remembers
	// the keys that have passed. So a handler gets an OnDelete for each object that it was told of,
	// and for no other. Filter is called on the goroutine of the callbacks, for each change and
	// each resync, but not for the last state of a deleted object.
	Filter func(obj T) bool

	// Resync is a period. In each period, the informer offers every object to the handler once
	// more, as OnUpdate(obj, obj), and spreads these calls over the period. Resync is for a handler
	// that keeps something else in step with the objects, and repairs that thing if somebody has
	// changed it. In the first period after the handler was added, nothing is offered, because the
	// handler has just got every object. The informer leaves an object out if a change of the
	// object is pending for this handler, or if this handler is in a callback for it. If Resync is
	// zero or negative, there are no resyncs.
	Resync time.Duration

	// Name stands for the handler in errors. It may be empty.
	Name string
}

// Registration is one handler of an [Informer]. All methods may be called from any goroutine.
type Registration struct {
	synced chan struct{}
	done   chan struct{} // closed when no callback runs and none will

	// Set by newSubscriber, because a Registration has no type parameter.
	waiting func() int
	forget  func() // tells the consumer to drop the handler

	mu      sync.Mutex
	removed bool          // no callback begins any more
	stopped bool          // it was removed because Run ends
	started bool          // the handler has its goroutine, which closes done
	quit    chan struct{} // closed when removed is set
}

func newRegistration() *Registration {
	return &Registration{synced: make(chan struct{}), done: make(chan struct{}), quit: make(chan struct{})}
}

// Synced returns a channel that is closed once the handler's last initial OnAdd has returned, and
// after it OnSynced, if the handler has one. If the handler is removed, or the informer stops,
// before that, the channel is never closed.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// HasSynced reports whether the channel that [Registration.Synced] returns is closed.
func (r *Registration) HasSynced() bool { return isClosed(r.synced) }

// Pending returns the number of objects with a change that the handler has not got yet.
func (r *Registration) Pending() int { return r.waiting() }

// RemoveAsync removes the handler, and does not wait. No callback starts after RemoveAsync was
// called, and pending changes are dropped. When the last callback has returned, [Registration.Done]
// is closed. A callback may call it, for its own handler or another one. A second call does
// nothing.
func (r *Registration) RemoveAsync() {
	if r.end(false) {
		r.forget()
	}
}

// Remove does the same as RemoveAsync, and then waits until the last callback has returned. If ctx
// ends first, Remove returns ctx.Err(), and the handler is removed nevertheless.
//
// A callback must not call Remove for its own handler, because the callback would wait for itself
// until ctx ends. Two callbacks must not call Remove for each other's handlers. Use
// [Registration.RemoveAsync] there.
func (r *Registration) Remove(ctx context.Context) error {
	r.RemoveAsync()
	return r.await(ctx)
}

// wasStopped reports whether the handler was ended by the end of Run.
func (r *Registration) wasStopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// stop ends the handler because Run ends.
func (r *Registration) stop() { r.end(true) }

// await waits until the last callback has returned.
func (r *Registration) await(ctx context.Context) error {
	select {
	case <-r.done:
		return nil
	default: // if the handler has ended, return nil, even if ctx has ended, too
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done returns a channel that is closed once the handler's last callback has returned, because the
// handler was removed or because the informer stopped.
func (r *Registration) Done() <-chan struct{} { return r.done }

// end makes sure that no further callback begins. If an earlier call has ended the handler, it
// returns false.
func (r *Registration) end(stopped bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed {
		return false
	}
	r.removed, r.stopped = true, stopped
	close(r.quit)
	if !r.started {
		close(r.done)
	}
	return true
}

// begin reports whether the handler may start its goroutine now. If the handler was removed before,
// begin returns false.
func (r *Registration) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = !r.removed
	return r.started
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
