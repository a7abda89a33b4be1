package watchcache

import (
	"slices"
	"time"
)

// A change is what one write did to one object.
type change struct {
	version uint64
	before  Object // nil: the object is new
	after   Object // the state, or the last state with the version of the deletion
	deleted bool
	when    time.Time
	frames  frames
}

// A window holds the last changes, the oldest first: those of the last [Options.Fresh], within the
// bounds of the options.
type window struct {
	changes []*change
	floor   uint64 // a watch can begin at this version or later
	lost    uint64 // every change after this version is in changes
}

// restart empties the window. It begins anew at version.
func (w *window) restart(version uint64) {
	clear(w.changes)
	w.changes, w.floor, w.lost = nil, version, version
}

// add appends a change, whose version is newer than all others.
func (w *window) add(c *change, opts *Options) {
	w.changes = append(w.changes, c)
	w.shrink(c.when, opts)
}

// shrink removes the changes that are too old or too many.
//
// The window of kube-apiserver adapts to the rate of changes only when it is full. After a burst it
// keeps the changes until as many others have come, so an idle type holds them for good
// (https://github.com/kubernetes/kubernetes/issues/139250).
func (w *window) shrink(now time.Time, opts *Options) {
	over := max(len(w.changes)-opts.MaxEvents, 0)
	for over < len(w.changes)-opts.MinEvents && now.Sub(w.changes[over].when) > opts.Fresh {
		over++
	}
	if over > 0 {
		w.drop(over)
		w.floor = max(w.floor, w.changes[0].version-1)
	}
}

// drop removes the n oldest changes.
func (w *window) drop(n int) {
	if n == 0 {
		return
	}
	w.lost = w.changes[n-1].version
	w.floor = max(w.floor, w.lost)
	clear(w.changes[:n])
	w.changes = w.changes[n:]
}

func (w *window) after(version uint64) []*change {
	i, _ := slices.BinarySearchFunc(w.changes, version+1, func(c *change, version uint64) int {
		switch {
		case c.version < version:
			return -1
		case c.version > version:
			return 1
		}
		return 0
	})
	return w.changes[i:]
}
