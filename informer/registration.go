package informer

import "sync"

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

// Remove ends the calling of the handler's callbacks. No callback begins once it was called, what is pending is dropped,
// and when it returns the last callback has returned too.
//
// With one exception: called from inside a callback, this handler's own or that of another one, it does not wait, because
// whom it would wait for might be waiting for it. Receive from [Registration.Done], elsewhere, to know the end. A callback
// must not do that, nor wait for a goroutine that calls Remove.
//
// To remove a handler again does nothing but wait.
func (r *Registration) Remove() {
	r.remove()
	if !insideCallback() {
		<-r.done
	}
}

// Done returns a channel that is closed once the handler's last callback has returned, because the handler was removed or
// because the informer stopped.
func (r *Registration) Done() <-chan struct{} { return r.done }

// remove is Remove without the waiting.
func (r *Registration) remove() {
	if r.end() {
		r.forget()
	}
}

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
