package informer

import (
	"context"
	"sync"
)

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
