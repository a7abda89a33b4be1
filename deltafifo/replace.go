package deltafifo

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
)

// Replace queues a Replaced for every object of a list, in the list's order, and then, by key, a Deleted with a Tombstone
// for every object that the list lacks and that is known, queued or being processed. An object whose UID is not the one
// last seen under its key was deleted and made again: a Deleted with a Tombstone comes before its Replaced. A key that
// comes twice in the list is queued twice, in one entry, so that the last wins.
//
// Keys that are queued already keep their place. The resourceVersion is the list's. If it is lower than that of the last mark,
// then the server's storage went back, and the marks that wait are removed: see [Queue.Mark].
//
// An item without a key is an error, as is a panic of Known; then nothing is queued, and it was not the first Replace.
func (q *Queue[T]) Replace(items []T, resourceVersion string) error {
	var buf [keySize]byte
	ids := make([]identity, len(items))
	for i, obj := range items {
		key, uid, err := identify(buf[:0], obj)
		if err != nil {
			return fmt.Errorf("deltafifo: replace: item %d of %d: %w", i, len(items), err)
		}
		ids[i] = identity{string(key), uid}
	}
	var closed bool
	err := q.withKnown(func(v *knownView[T]) {
		if closed = q.closed; !closed {
			q.wentBack(resourceVersion)
			q.replace(items, ids, v)
		}
	})
	switch {
	case err != nil:
		return fmt.Errorf("deltafifo: replace: %w", err)
	case closed:
		return fmt.Errorf("replace: %w", ErrClosed)
	}
	return nil
}

// identity is what tells one object from another.
type identity struct {
	key string
	uid types.UID
}

// replace queues the list and what it lacks. It needs mu.
func (q *Queue[T]) replace(items []T, ids []identity, v *knownView[T]) {
	q.lists++
	for i, obj := range items {
		id := ids[i]
		if s, ok := q.expected(id.key, v); ok && object.Another(s.uid, id.uid) {
			q.bury(s)
		}
		q.pushListed(id.key, id.uid, Delta[T]{Type: Replaced, Object: obj})
	}
	for _, key := range q.unlisted(v) {
		if s, ok := q.expected(key, v); ok {
			q.bury(s)
		}
	}
	q.forgive(func(string) bool { return true }) // what is listed, or known and not listed, is queued
	if q.lists == 1 && q.initial == 0 {
		close(q.synced)
	}
}

// expected returns the object that will be there under key once all that is queued or being processed has been processed.
// It needs mu.
func (q *Queue[T]) expected(key string, v *knownView[T]) (state[T], bool) {
	if e := q.entries[key]; q.pending(e) {
		return e.state, e.last != Deleted
	}
	return v.get(key)
}

// unlisted returns the keys that the list just queued has not touched, sorted. It needs mu.
func (q *Queue[T]) unlisted(v *knownView[T]) []string {
	return q.keys(v, func(e *entry[T]) bool { return e == nil || e.list != q.lists })
}

// keys returns, sorted, the keys that are known, queued or being processed and that keep, which gets a key's entry or nil,
// does not leave out. It needs mu.
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

// bury queues the inferred deletion of an object. It needs mu.
func (q *Queue[T]) bury(s state[T]) {
	q.pushListed(s.key, s.uid, s.inferred())
}

// inferred is the deletion of an object that nobody saw.
func (s state[T]) inferred() Delta[T] {
	return Delta[T]{Type: Deleted, Object: s.obj, Tombstone: &DeletedFinalStateUnknown[T]{Key: s.key, Obj: s.obj}}
}

// pushListed pushes a delta that came of a list. It needs mu.
func (q *Queue[T]) pushListed(key string, uid types.UID, d Delta[T]) {
	e := q.entry(key)
	q.push(e, uid, d)
	e.list = q.lists
	if q.lists == 1 && !e.initial {
		e.initial = true
		q.initial++
	}
}

// Resync queues a Sync for every known object, by key, that has nothing queued and is not being processed. It is how a
// consumer that works against a desired state gets to see every object again now and then.
//
// Without Known it does nothing. A panic of Known is an error, and then nothing is queued.
func (q *Queue[T]) Resync() error {
	var closed bool
	err := q.withKnown(func(v *knownView[T]) {
		if closed = q.closed; !closed {
			q.resync(v)
		}
	})
	switch {
	case err != nil:
		return fmt.Errorf("deltafifo: resync: %w", err)
	case closed:
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
