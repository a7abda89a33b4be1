package informer

import (
	"context"
	"sync"
	"time"

	"github.com/relist-go/relist/store"
)

// Handler is a set of callbacks, in the manner of net/http/httptrace.ClientTrace: any of them may be nil.
//
// They are called one at a time, on a goroutine that belongs to this handler alone, and may take as long as they need. The
// changes of one object come in the order in which they happened. While they wait they are merged, so that an object never
// has more than one pending change:
//
//   - Updates become one, from the state that the handler was told last to the latest.
//   - A deletion followed by a re-creation stays what it is, OnDelete and then OnAdd, and never becomes an update.
//   - An object that came and went before its OnAdd was called is not mentioned at all. Nor is one that was made again and
//     went again while the OnDelete of its predecessor waited.
//
// When a callback is called the store has the change already, in every index, and may have later ones too.
//
// An object that comes again as it was, with the UID, the resourceVersion and the content that the store has for it, calls
// nobody. That is what a relist consists of, mostly. The content is compared because a server that was restored from a backup
// gives its versions out again. A transform that clears the resourceVersion takes away the means to see this: then every object
// that is listed again is an OnUpdate. Clear what is large, and leave the version.
type Handler[T store.Object] struct {
	// OnAdd is called for an object that the handler has not been told of yet. It is initial if it was in the first list,
	// or in the store when the handler was added; and when the last of these has returned, [Registration.Synced] is closed.
	OnAdd func(obj T, initial bool)

	// OnUpdate is called with the state that the handler was told last, and the latest. On a resync both are the same.
	OnUpdate func(old, obj T)

	// OnDelete is called with the last state known. It is the one in which the object was deleted, unless
	// finalStateUnknown: then nobody saw the deletion, which a list or a re-creation has made certain, and the object may
	// have changed before.
	OnDelete func(obj T, finalStateUnknown bool)

	// Resync is the period in which every object is offered once more, as OnUpdate(obj, obj), to bring a handler back on
	// course that works against something which drifts. The objects are spread over the period, the first of them a
	// period after the handler was added; one that has a change pending is left out. If zero or negative, never.
	Resync time.Duration

	// Name stands for the handler in errors. It may be empty.
	Name string
}

// Registration is a handler's place in an [Informer]. All methods may be called from any goroutine.
type Registration struct {
	synced chan struct{}
	done   chan struct{} // closed when no callback runs and none will

	// What the generic part does for this one.
	waiting func() int
	forget  func() // lets the consumer drop the handler, which is removed

	mu      sync.Mutex
	removed bool          // no callback begins any more
	begun   bool          // there is a goroutine, which closes done
	quit    chan struct{} // closed with removed
}

func newRegistration() *Registration {
	return &Registration{synced: make(chan struct{}), done: make(chan struct{}), quit: make(chan struct{})}
}

// Synced returns a channel that is closed once the handler's last initial OnAdd has returned: for a handler that was there
// from the start, that is the end of the first list, and for one that came late the end of what was in the store. It is
// never closed if the handler is removed, or the informer stops, before.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// HasSynced reports whether the channel that [Registration.Synced] returns is closed.
func (r *Registration) HasSynced() bool { return isClosed(r.synced) }

// Pending returns the number of objects with a change that waits for the handler: how far behind it is.
func (r *Registration) Pending() int { return r.waiting() }

// Cancel ends the calling of the handler's callbacks, and does not wait: no callback begins once it was called, what is
// pending is dropped, and [Registration.Done] is closed when the last callback has returned. A callback may call it, for
// its own handler or another one. To call it again does nothing.
func (r *Registration) Cancel() {
	if r.end() {
		r.forget()
	}
}

// Remove is Cancel, and waits until the last callback has returned. It returns ctx.Err() if ctx ends before; the handler
// is removed all the same.
//
// A callback that calls it for its own handler waits for itself, until ctx ends, and two that call it for each other
// likewise: use [Registration.Cancel] there.
func (r *Registration) Remove(ctx context.Context) error {
	r.Cancel()
	select {
	case <-r.done:
		return nil
	default:
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done returns a channel that is closed once the handler's last callback has returned, because the handler was removed or
// because the informer stopped.
func (r *Registration) Done() <-chan struct{} { return r.done }

// end lets no callback begin any more. It reports whether that is news.
func (r *Registration) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed {
		return false
	}
	r.removed = true
	close(r.quit)
	if !r.begun {
		close(r.done)
	}
	return true
}

// begin reports whether the handler, which is not removed, gets its goroutine now.
func (r *Registration) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = !r.removed
	return r.begun
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
