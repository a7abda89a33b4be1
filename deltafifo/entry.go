package deltafifo

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
)

// entry is the queue's record of a key. It is queued, being processed, or both at once.
type entry[T any] struct {
	state[T]
	deltas  []Delta[T] // nil unless it is queued
	list    uint64     // the number of the last Replace that queued a delta for the key, counted from 1
	initial bool       // queued, and part of the first Replace

	// With Options.Coalesce: begin is the index in deltas of the first delta of the last object,
	// and before is the UID of the object before that one.
	begin  int
	before types.UID
}

// state is the state of a key after its last delta has been processed.
type state[T any] struct {
	key  string
	uid  types.UID // of obj
	last Type
	obj  T
}

// manyEntries is the size above which an empty map is replaced by a new one, because a map never
// shrinks.
const manyEntries = 1024

// pending reports whether an entry is queued or being processed. If so, the entry's state is the
// state of its key after that. It needs mu.
func (q *Queue[T]) pending(e *entry[T]) bool {
	return e != nil && (e.deltas != nil || e == q.processing)
}

// entry returns the entry of a key, and makes one if the key has none. The caller holds mu.
func (q *Queue[T]) entry(key string) *entry[T] {
	e := q.entries[key]
	if e == nil {
		e = q.enter(key)
	}
	return e
}

// enter makes an entry for a key that has none. It needs mu.
func (q *Queue[T]) enter(key string) *entry[T] {
	e := q.spare
	if q.spare = nil; e == nil {
		e = new(entry[T])
	}
	e.key = key
	q.entries[key] = e
	q.peak = max(q.peak, len(q.entries))
	return e
}

// leave removes an entry that has been processed, unless it is queued again. It needs mu.
func (q *Queue[T]) leave(e *entry[T]) {
	if e.deltas != nil {
		return
	}
	delete(q.entries, e.key)
	*e = entry[T]{}
	q.spare = e
	if len(q.entries) == 0 && q.peak > manyEntries {
		q.entries, q.peak = map[string]*entry[T]{}, 0
	}
}

// push adds a delta to the entry of its key. If the entry is not queued, push queues it at the end.
// It needs mu.
func (q *Queue[T]) push(e *entry[T], uid types.UID, d Delta[T]) {
	switch n := len(e.deltas); {
	case n == 0:
		e.begin, e.deltas = 0, []Delta[T]{d}
		q.order.push(e)
		q.signal()
	case d.Type == Deleted && e.last == Deleted:
		// Two deletions in a row become one. An observed deletion replaces an inferred deletion of
		// the same object.
		if e.deltas[n-1].Tombstone == nil || object.DifferentUID(e.uid, uid) {
			return
		}
		e.deltas[n-1] = d
	case q.coalesce:
		if !e.merge(uid, d) {
			return
		}
	default:
		e.deltas = append(e.deltas, d)
	}
	e.last, e.obj, e.uid = d.Type, d.Object, uid
}

// merge adds a delta to the entry's deltas, so that there are three of them at most: the last state
// of the first object, a deletion, and the last state of the last object. It returns false if the
// delta itself is left out.
//
// The deltas of an entry belong to one object, or to several objects that had the name one after
// the other. The consumer may know the first object, but none of the others, so it need not learn
// of those that came and went. A state has the type of the first delta of its object. Only a Sync
// becomes what follows, because a Sync says that nothing has changed.
func (e *entry[T]) merge(uid types.UID, d Delta[T]) bool {
	n := len(e.deltas)
	switch {
	case d.Type == Deleted:
		if e.begin > 0 && e.deltas[e.begin-1].Type == Deleted {
			// The consumer does not know this object, so the entry ends again with the deletion of
			// the object before.
			e.deltas = slices.Delete(e.deltas, e.begin, n)
			e.last, e.obj, e.uid = Deleted, e.deltas[e.begin-1].Object, e.before
			return false
		}
	case e.last == Deleted:
		if e.begin > 0 { // of the object that is gone, only the deletion stays
			e.deltas = slices.Delete(e.deltas, e.begin, max(e.begin, n-1))
		}
		e.begin, e.before = len(e.deltas), e.uid
	case object.DifferentUID(e.uid, uid): // without a deletion of the object before
		if e.begin > 0 {
			e.deltas = slices.Delete(e.deltas, e.begin, n)
		} else {
			e.begin, e.before = n, e.uid
		}
	default:
		if typ := e.deltas[n-1].Type; typ != Sync {
			d.Type = typ
		}
		e.deltas[n-1] = d
		return true
	}
	e.deltas = append(e.deltas, d)
	return true
}
