package informer

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// milestone is a resourceVersion of a whole list, or of a bookmark, or somebody who waits. Once everything that was queued
// before it has been processed the version becomes the store's, and who waits is told.
type milestone struct {
	resourceVersion string        // or empty
	passed          chan struct{} // or nil
	list            bool
	after           uint64 // entries processed; set by plan
	newest          string // of a list: the newest version that was applied and came after it; empty if none was
}

// intake is the queue as the reflector's sink.
type intake[T store.Object] struct {
	*deltafifo.Queue[T]
	reached func(milestone)
}

// Replace implements [reflector.Sink].
func (s intake[T]) Replace(items []T, resourceVersion string) error {
	if err := s.Queue.Replace(items, resourceVersion); err != nil {
		return err
	}
	s.reached(milestone{resourceVersion: resourceVersion, list: true})
	return nil
}

// withBookmarks returns t with a function that is told of bookmarks before t's own is.
func withBookmarks(t *reflector.Trace, reached func(milestone)) *reflector.Trace {
	var all reflector.Trace
	if t != nil {
		all = *t
	}
	next := all.Bookmark
	all.Bookmark = func(resourceVersion string) {
		reached(milestone{resourceVersion: resourceVersion})
		if next != nil {
			next(resourceVersion)
		}
	}
	return &all
}

// reached takes note of a milestone: a version, which the reflector's goroutine gives before it queues anything else, or
// somebody who waits.
func (in *Informer[T]) reached(m milestone) {
	in.mu.Lock()
	in.milestones = append(in.milestones, m)
	in.mu.Unlock()
	in.bell.ring()
}

// plan takes over the milestones that others have left, and says when each will have been reached.
//
// It cannot say too early. The consumer alone takes entries, and here it is between two, so none is being processed and
// none can be taken while it counts: what was queued before a milestone has been processed or is among the entries that
// wait now, which are the next to come, for the queue is first in, first out. Entries that were queued since are among
// them too, so it can say too late, by those, and that is harmless.
func (c *consumer[T]) plan(milestones []milestone) {
	after := c.processed + uint64(c.queue.Len())
	for _, m := range milestones {
		m.after = after
		c.milestones = append(c.milestones, m)
	}
}

// applied takes note of the version of an event, and gives it to the store once nothing waits: the queue is one of keys,
// so what was applied last may have come after what waits.
func (c *consumer[T]) applied(key string, d deltafifo.Delta[T]) {
	if d.Type != deltafifo.Added && d.Type != deltafifo.Updated {
		// The end of an entry that was queued before a list is a Replaced or a Deleted: the list has the object or has
		// not. So this may be of the past. A Deleted need not be, and then the store's version waits for the next event.
		return
	}
	version := d.Object.GetResourceVersion()
	if c.fetched.was(key, version) {
		return // the watch may have yet to bring what came before
	}
	c.newest = newer(c.newest, version)
	for i := range c.milestones {
		if m := &c.milestones[i]; m.list {
			m.newest = newer(m.newest, version)
		}
	}
}

// drained gives the store the version of the newest event, if all that came before it has been applied.
func (c *consumer[T]) drained() {
	if c.newest == "" || c.queue.Len() > 0 {
		return
	}
	c.store.Bookmark(c.newest)
	c.newest = ""
}

// newer returns the newer of two versions.
func newer(a, b string) string {
	if a == "" || older(a, b) {
		return b
	}
	return a
}

// pass gives the store the resourceVersions that it has come up to.
//
// A list that is older than the store is no mistake, which the reflector would not have let through: the server went back,
// as after the restoration of a backup, and the store, which holds what the server does, with it.
func (c *consumer[T]) pass() {
	for len(c.milestones) > 0 && c.milestones[0].after <= c.processed {
		m := c.milestones[0]
		c.milestones = c.milestones[1:]
		if m.list && older(m.resourceVersion, c.store.ResourceVersion()) {
			c.store.SetResourceVersion(m.resourceVersion)
			m.resourceVersion, c.newest = m.newest, ""
		}
		c.store.Bookmark(m.resourceVersion)
		if m.passed != nil {
			close(m.passed)
		}
	}
}

// older reports whether a version is known to lie before another.
func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
