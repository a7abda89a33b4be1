package load

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/relist-go/relist/test/bench/objects"
)

// firstVersion makes every version 10 digits long.
const firstVersion = 1_000_000_000

// A world holds the objects of one resource, and the history of their changes.
type world struct {
	set *objects.Set

	mu      sync.RWMutex
	states  []objects.Values // by index
	history []objects.Values // every change that watches are told of, oldest first
	version uint64           // of the last change
	floor   uint64           // a watch cannot begin below it
	epoch   int              // counts expiries; a watch ends when it changes
	next    int              // the object that changes next
	// changed has a channel for each node, which is closed at the next change there, and at its end
	// one for all changes.
	changed [objects.Nodes + 1]chan struct{}
}

func newWorld(set *objects.Set) *world {
	w := &world{set: set, version: firstVersion}
	for i := range w.changed {
		w.changed[i] = make(chan struct{})
	}
	for i := range set.Len {
		w.version++
		w.states = append(w.states, objects.Values{Index: i, Version: w.version})
	}
	return w
}

// change changes count objects, in turn, and returns the version of the last change.
func (w *world) change(count int) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changeLocked(count, true)
}

func (w *world) changeOne(i int) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := w.next
	w.next = i % len(w.states)
	defer func() { w.next = next }()
	return w.changeLocked(1, true)
}

func (w *world) changeLocked(count int, seen bool) uint64 {
	now := time.Now().UnixNano()
	for range count {
		w.version++
		v := objects.Values{Index: w.next, Version: w.version, Sent: now}
		w.states[w.next] = v
		if seen {
			w.history = append(w.history, v)
		}
		w.wake(w.next % objects.Nodes)
		w.next = (w.next + 1) % len(w.states)
	}
	w.wake(objects.Nodes)
	return w.version
}

func (w *world) wake(node int) {
	close(w.changed[node])
	w.changed[node] = make(chan struct{})
}

// expire changes count objects without telling watches, and ends every watch. The version rises
// even if count is 0, as if another object in the cluster had changed.
func (w *world) expire(count int) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	w.epoch++
	w.floor = w.changeLocked(count, false)
	for node := range objects.Nodes {
		w.wake(node)
	}
	return w.floor
}

// changeAtRate makes rate changes a second, for count changes, and returns the version of the last.
func (w *world) changeAtRate(ctx context.Context, count, rate int) uint64 {
	const period = time.Millisecond
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	begin, done := time.Now(), 0
	for done < count {
		select {
		case <-ctx.Done():
			return 0
		case now := <-ticker.C:
			due := min(int(now.Sub(begin).Seconds()*float64(rate)), count)
			if due > done {
				w.change(due - done)
				done = due
			}
		}
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.version
}

// snapshot returns the objects from begin to end, and a cursor where a watch goes on from it.
func (w *world) snapshot(begin, end int) ([]objects.Values, cursor) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return slices.Clone(w.states[begin:end]), cursor{len(w.history), w.version, w.epoch}
}

// A cursor is where a watch is in the history.
type cursor struct {
	next    int
	version uint64
	epoch   int
}

// at returns the cursor after a version; false if what came next is forgotten.
func (w *world) at(version uint64) (cursor, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	next := sort.Search(len(w.history), func(i int) bool { return w.history[i].Version > version })
	return cursor{next, version, w.epoch}, version >= w.floor
}

// read returns what comes after the cursor, at most limit changes, and a channel that says when
// there is more of a node. It is false when every watch is to end.
func (w *world) read(c cursor, limit, node int) ([]objects.Values, cursor, <-chan struct{}, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if c.epoch != w.epoch {
		return nil, c, nil, false
	}
	events := w.history[c.next:min(len(w.history), c.next+limit)]
	c.next += len(events)
	if len(events) > 0 {
		c.version = events[len(events)-1].Version
	}
	return events, c, w.changed[node], true // events are never written to again
}
