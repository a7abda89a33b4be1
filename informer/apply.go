package informer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

// apply brings the store up to date with an entry, and tells the handlers. An error says that an index function panicked:
// then the store is as it was before that delta, no handler has heard of it, and the deltas after it are applied.
func (c *consumer[T]) apply(e deltafifo.Entry[T]) error {
	var failed error
	for _, d := range e.Deltas {
		var err error
		switch d.Type {
		case deltafifo.Added, deltafifo.Updated, deltafifo.Replaced:
			err = c.put(e.Key, d.Object, e.Initial)
		case deltafifo.Deleted:
			err = c.remove(e.Key, d.Object, d.Tombstone != nil)
		case deltafifo.Sync:
			// unreachable: the reflector's resync is off.
		}
		if err != nil && failed == nil {
			failed = fmt.Errorf("informer: %w", err)
		}
	}
	if failed == nil {
		c.applied(e.Key, e.Deltas[len(e.Deltas)-1])
	}
	return failed
}

// put stores an object that is new, changed or the same. What the server calls it does not matter: it may repeat itself,
// and a list does not say.
func (c *consumer[T]) put(key string, obj T, initial bool) error {
	old, known := c.store.Get(key)
	if known && unchanged(old, obj) {
		return nil // the one that everybody has stays in the store
	}
	if err := c.store.Update(obj); err != nil {
		return err
	}
	replaced := known && another(old.GetUID(), obj.GetUID())
	for _, s := range c.handlers {
		if replaced {
			s.deleted(key, old, old, true)
		}
		if known && !replaced {
			s.updated(key, old, obj)
		} else {
			s.added(key, obj, initial)
		}
	}
	return nil
}

// remove removes an object from the store. The handlers are told the final state, or, if it is that of an object which they
// do not know, the last state of the one they do.
func (c *consumer[T]) remove(key string, final T, unknown bool) error {
	old, known := c.store.Get(key)
	if !known {
		return nil // nobody was told that it exists
	}
	if err := c.store.Delete(final); err != nil {
		return err
	}
	if another(old.GetUID(), final.GetUID()) {
		final, unknown = old, true
	}
	for _, s := range c.handlers {
		s.deleted(key, old, final, unknown)
	}
	return nil
}

// unchanged reports whether b is the same state of the same object as a. Two objects without a resourceVersion, which a
// transform may have taken away, may be anything.
func unchanged[T store.Object](a, b T) bool {
	rv := a.GetResourceVersion()
	return rv != "" && rv == b.GetResourceVersion() && a.GetUID() == b.GetUID()
}

// another reports whether two UIDs are known and differ.
func another(a, b types.UID) bool { return a != "" && b != "" && a != b }
