package deltafifo

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
)

// Replace queues a Replaced for every object of a list, in the list's order, and then, by key, a
// Deleted with a Tombstone for every object that the list lacks and that is known, queued or being
// processed. If an object has another UID than the last object under its key, the object was
// deleted and made again, so a Deleted with a Tombstone comes before its Replaced. If a key comes
// twice in the list, its entry has two Replaced, or one with [Options.Coalesce], and the last one
// counts.
//
// Keys that are queued already keep their place. The resourceVersion is the list's, and Replace
// sets a mark with it behind the list: see [Queue.Mark].
//
// If an item has no key, Replace returns an error and queues nothing, and the call does not count
// as the first Replace.
func (q *Queue[T]) Replace(items []T, resourceVersion string) error {
	var buf [object.KeySize]byte
	ids := make([]identity, len(items))
	for i, obj := range items {
		key, uid, err := identify(buf[:0], obj)
		if err != nil {
			return fmt.Errorf("deltafifo: replace: item %d of %d: %w", i, len(items), err)
		}
		ids[i] = identity{string(key), uid}
	}
	var closed bool
	q.withKnown(func(v *knownView[T]) {
		if closed = q.closed; !closed {
			q.replace(items, ids, resourceVersion, v)
		}
	})
	if closed {
		return fmt.Errorf("replace: %w", ErrClosed)
	}
	return nil
}

// Resumed says that Known holds a saved copy which stands for the first Replace: [Queue.HasSynced]
// becomes true, and a later Replace does not count as the first. After a Replace it does nothing.
// It is a call of the producer's.
func (q *Queue[T]) Resumed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lists > 0 {
		return
	}
	q.lists = 1
	close(q.synced)
}

// identity is the key and the UID of an object.
type identity struct {
	key string
	uid types.UID
}

// replace queues the list, and the deletions of the objects that the list lacks. It needs mu.
func (q *Queue[T]) replace(items []T, ids []identity, version string, v *knownView[T]) {
	q.rolledBack(version)
	q.lists++
	for i, obj := range items {
		id := ids[i]
		if s, ok := q.expected(id.key, v); ok && object.DifferentUID(s.uid, id.uid) {
			q.pushGone(s)
		}
		q.pushListed(id.key, id.uid, Delta[T]{Type: Replaced, Object: obj})
	}
	for _, key := range q.unlisted(v) {
		if s, ok := q.expected(key, v); ok {
			q.pushGone(s)
		}
	}
	q.mark(version)
	q.forgetFailures(func(string) bool { return true }) // all objects that exist, or that the consumer may have, are queued now
	q.advance()
}

// expected returns the object that will be under key after all entries have been processed. It
// needs mu.
func (q *Queue[T]) expected(key string, v *knownView[T]) (state[T], bool) {
	if e := q.entries[key]; q.pending(e) {
		return e.state, e.last != Deleted
	}
	return v.get(key)
}

// unlisted returns the keys that the list just queued does not contain, sorted. It needs mu.
func (q *Queue[T]) unlisted(v *knownView[T]) []string {
	return q.keys(v, func(e *entry[T]) bool { return e == nil || e.list != q.lists })
}

// keys returns the sorted keys that are known, queued or being processed, and for which keep
// returns true. keep gets the key's entry, or nil. It needs mu.
func (q *Queue[T]) keys(v *knownView[T], keep func(*entry[T]) bool) []string {
	var keys []string
	consider := func(key string) {
		if keep(q.entries[key]) {
			keys = append(keys, key)
		}
	}
	for i := range v.states {
		consider(v.states[i].key)
	}
	for key := range v.fresh { // in any order: sorted below
		consider(key)
	}
	if q.processing != nil {
		consider(q.processing.key)
	}
	for i := range q.order.len {
		consider(q.order.at(i).key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// pushGone queues the inferred deletion of an object. It needs mu.
func (q *Queue[T]) pushGone(s state[T]) {
	q.pushListed(s.key, s.uid, s.inferred())
}

// inferred returns a Deleted for an object whose deletion no watch has reported.
func (s state[T]) inferred() Delta[T] {
	return Delta[T]{Type: Deleted, Object: s.obj, Tombstone: &DeletedFinalStateUnknown[T]{Key: s.key, Object: s.obj}}
}

// pushListed pushes a delta that a Replace caused. It needs mu.
func (q *Queue[T]) pushListed(key string, uid types.UID, d Delta[T]) {
	e := q.entry(key)
	q.push(e, uid, d)
	e.list = q.lists
	if q.lists == 1 && !e.initial {
		e.initial = true
		q.initial++
	}
}

// Resync queues a Sync for every known object that is neither queued nor being processed, in the
// order of the keys. A consumer that compares objects with a desired state thereby processes every
// object again from time to time.
//
// Without Known, Resync does nothing.
func (q *Queue[T]) Resync() error {
	var closed bool
	q.withKnown(func(v *knownView[T]) {
		if closed = q.closed; !closed {
			q.resync(v)
		}
	})
	if closed {
		return fmt.Errorf("resync: %w", ErrClosed)
	}
	return nil
}

// resync needs mu.
func (q *Queue[T]) resync(v *knownView[T]) {
	for i := range v.states {
		key := v.states[i].key
		if q.pending(q.entries[key]) {
			continue
		}
		if s, ok := v.get(key); ok {
			q.push(q.entry(key), s.uid, Delta[T]{Type: Sync, Object: s.obj})
		}
	}
}
