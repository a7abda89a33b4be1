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

// A window holds the last changes, the oldest first. Its capacity adapts to the rate of changes, so that it holds about the
// changes of the last [Options.Fresh].
type window struct {
	changes  []*change
	capacity int
	floor    uint64 // a watch can begin at this version or later
	lost     uint64 // every change after this version is in changes
}

// restart empties the window. It begins anew at version.
func (w *window) restart(version uint64) {
	clear(w.changes)
	w.changes, w.floor, w.lost = nil, version, version
}

// add appends a change, whose version is newer than all others. If the window is full, it first becomes larger or smaller, or loses its
// oldest change.
//
// Source of the rules: resizeCacheLocked and updateCache of kube-apiserver's watch cache.
func (w *window) add(c *change, opts *Options) {
	w.capacity = max(w.capacity, opts.MinEvents)
	if n := len(w.changes); n >= w.capacity {
		switch {
		case c.when.Sub(w.changes[0].when) < opts.Fresh:
			w.capacity = min(w.capacity*2, opts.MaxEvents)
		case c.when.Sub(w.changes[n-max(w.capacity/4, 1)].when) > opts.Fresh:
			w.capacity = max(w.capacity/2, opts.MinEvents)
		}
	}
	w.changes = append(w.changes, c)
	if over := len(w.changes) - w.capacity; over > 0 {
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

// after returns the changes that are newer than version.
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
