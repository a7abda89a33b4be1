package informer

import (
	"fmt"

	"github.com/relist-go/relist/object"
)

// Change is one change of one object in the store.
type Change[T object.Object] struct {
	Key string

	// Old is what the store had, if Existed.
	Old     T
	Existed bool

	// New is what the store has now, if Exists.
	New    T
	Exists bool

	// Initial is true if New was in the first list, or in the store when the observer was added.
	Initial bool
}

// Observe adds an observer: a function that is told of every single change of the store. It is for
// a program, such as a work queue, that must be told of every state that it can read in the store.
// A [Handler] is told of fewer changes, because the changes that wait for it are merged: if an
// object came and went while the handler was busy, the handler hears nothing of it.
//
// observe runs on the informer's own goroutine, after the store has the change and before it has
// the next one. So observe must be quick, and must not call what an index function must not call:
// [Informer.WaitForVersion], [Informer.Relist], and the Remove of a registration. It may read the
// store, and call [Registration.RemoveAsync].
//
// A program may call Observe at any time. If the informer runs already, the observer is first told
// of every object in the store, with Initial set. These calls may begin before Observe has
// returned. [Registration.Synced] is closed when the observer has been told of the first list.
// Pending is always 0. name stands for the observer in errors.
//
// If Run has ended or is about to end, Observe returns an error that satisfies errors.Is with
// [ErrStopped].
func (c *cache[T]) Observe(name string, observe func(Change[T])) (*Registration, error) {
	o := &observer[T]{Registration: newRegistration(), observe: observe}
	o.waiting = func() int { return 0 }
	o.forget = c.wake.signal
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, fmt.Errorf("informer: add observer %q: %w", name, ErrStopped)
	}
	c.observing = append(c.observing, o)
	c.wake.signal()
	return o.Registration, nil
}

// observer is a function that Observe was given. Only the consumer calls it, and only the consumer
// ends it.
type observer[T object.Object] struct {
	*Registration
	observe func(Change[T])
}

// tell calls the function, unless it was removed.
func (o *observer[T]) tell(c Change[T]) {
	if !isClosed(o.quit) {
		o.observe(c)
	}
}

// markSynced closes synced, unless the function was removed.
func (o *observer[T]) markSynced() {
	if !isClosed(o.quit) {
		close(o.synced)
	}
}

// observe tells every observer of a change of the store.
func (c *consumer[T]) observe(change Change[T]) {
	for _, o := range c.observers {
		o.tell(change)
	}
}

// admitObservers adds observers, which begin with the objects that the store has now. It adds all
// of them before it calls the first: should that end the goroutine, stop ends them all.
func (c *consumer[T]) admitObservers(joining []*observer[T]) {
	known := len(c.observers)
	for _, o := range joining {
		if o.begin() { // it was not removed before it began
			c.observers = append(c.observers, o)
		}
	}
	for _, o := range c.observers[known:] {
		for key, obj := range c.store.Snapshot().All() {
			o.tell(Change[T]{Key: key, New: obj, Exists: true, Initial: true})
		}
		if c.synced {
			o.markSynced()
		}
	}
}

// dropObservers removes the observers that have been canceled: the function is not running, and it
// will not run again.
func (c *consumer[T]) dropObservers() {
	kept := c.observers[:0]
	for _, o := range c.observers {
		if isClosed(o.quit) {
			close(o.done)
		} else {
			kept = append(kept, o)
		}
	}
	clear(c.observers[len(kept):])
	c.observers = kept
}
