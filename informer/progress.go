package informer

import (
	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// milestone is a resourceVersion of a whole list, or of a bookmark. It becomes the store's once everything that was queued
// before it has been processed: the queue is first in, first out.
type milestone struct {
	resourceVersion string
	after           uint64 // entries processed
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
	// One more than Len, for the entry that may be being processed. If none is, the consumer sees an empty queue.
	after := in.processed.Load() + uint64(in.queue.Len()) + 1
	in.mu.Lock()
	in.milestones = append(in.milestones, milestone{resourceVersion, after})
	in.mu.Unlock()
	in.bell.ring()
}
