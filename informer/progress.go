package informer

import (
	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// milestone is a resourceVersion of a whole list, or of a bookmark. It becomes the store's once everything that was queued
// before it has been processed.
type milestone struct {
	resourceVersion string
	after           uint64 // entries processed; set by plan
}

// intake is the queue as the reflector's sink.
type intake[T store.Object] struct {
	*deltafifo.Queue[T]
	reached func(resourceVersion string)
}

// Replace implements [reflector.Sink].
func (s intake[T]) Replace(items []T, resourceVersion string) error {
	if err := s.Queue.Replace(items, resourceVersion); err != nil {
		return err
	}
	s.reached(resourceVersion)
	return nil
}

// withBookmarks returns t with a function that is told of bookmarks before t's own is.
func withBookmarks(t *reflector.Trace, reached func(resourceVersion string)) *reflector.Trace {
	var all reflector.Trace
	if t != nil {
		all = *t
	}
	next := all.Bookmark
	all.Bookmark = func(resourceVersion string) {
		reached(resourceVersion)
		if next != nil {
			next(resourceVersion)
		}
	}
	return &all
}

// reached takes note of a milestone. The reflector's goroutine calls it.
func (in *Informer[T]) reached(resourceVersion string) {
	in.mu.Lock()
	in.milestones = append(in.milestones, milestone{resourceVersion: resourceVersion})
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

// pass gives the store the resourceVersions that it has come up to.
func (c *consumer[T]) pass() {
	for len(c.milestones) > 0 && c.milestones[0].after <= c.processed {
		c.store.Bookmark(c.milestones[0].resourceVersion)
		c.milestones = c.milestones[1:]
	}
}
