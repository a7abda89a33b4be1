package deltafifo

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
)

// entry is the queue's side of an [Entry]. It is queued, being processed, or both at once.
type entry[T any] struct {
	state[T]
	deltas  []Delta[T] // nil unless it is queued
	list    uint64     // the last Replace that queued something for it, counted from 1
	initial bool       // queued, and part of the first Replace

	// With Options.Coalesce: where in deltas the object begins whose delta is the last one, and the UID of the object
	// before it.
	begin  int
	before types.UID
}

// state is what a key will be once its last delta has been processed.
type state[T any] struct {
	key  string
	uid  types.UID // of obj
	last Type
	obj  T
}

// manyEntries is the size above which a map is given up once it is empty: a map never gives memory back by itself.
const manyEntries = 1024

// pending reports whether an entry is queued or being processed: then its state is what its key will be afterwards.
// It needs mu.
func (q *Queue[T]) pending(e *entry[T]) bool {
	return e != nil && (e.deltas != nil || e == q.processing)
}

// entry returns the entry of a key, which it makes if there is none. It needs mu.
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

// leave forgets an entry that has been processed, unless it is queued again. It needs mu.
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

// push queues a delta: in the entry of its key if that is queued, or else at the end. It needs mu.
func (q *Queue[T]) push(e *entry[T], uid types.UID, d Delta[T]) {
	switch n := len(e.deltas); {
	case n == 0:
		e.begin, e.deltas = 0, []Delta[T]{d}
		q.order.push(e)
		q.signal()
	case d.Type == Deleted && e.last == Deleted:
		// Two deletions in a row are one. An observed one takes the place of an inferred one of the same object.
		if e.deltas[n-1].Tombstone == nil || object.Another(e.uid, uid) {
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

// merge adds a delta to those that wait, and removes others, so that a few are left, however many come. It reports false if
// the delta itself is left out.
//
// The deltas of an entry belong to one object, or to several that had the name one after the other. The consumer may know
// the first, and has never heard of the others. So the objects between the first and the last are left out. Each object
// keeps its first delta and, of those that follow, the last one of each type. Of two deltas in a row that have one type it
// keeps the second.
func (e *entry[T]) merge(uid types.UID, d Delta[T]) bool {
	n := len(e.deltas)
	switch {
	case d.Type == Deleted:
		if e.begin == 0 || e.deltas[e.begin-1].Type != Deleted {
			e.deltas = append(e.deltas, d)
			return true
		}
		// The consumer has not heard of this object: the entry ends again with the deletion of the one before.
		e.deltas = slices.Delete(e.deltas, e.begin, n)
		e.last, e.obj, e.uid = Deleted, e.deltas[e.begin-1].Object, e.before
		return false
	case e.last == Deleted:
		e.begin, e.before = n, e.uid
	case object.Another(e.uid, uid): // and nobody said that the one before was deleted
		if e.begin > 0 {
			e.deltas = slices.Delete(e.deltas, e.begin, n)
		} else {
			e.begin, e.before = n, e.uid
		}
	case d.Type == e.last:
		e.deltas[n-1] = d
		return true
	default:
		e.drop(d.Type)
	}
	e.deltas = append(e.deltas, d)
	return true
}

// drop removes a type's delta among those that follow the first one of the object. If the first one is then followed by
// another of its own type, drop removes the first, too.
func (e *entry[T]) drop(typ Type) {
	second := e.begin + 1
	for i := second; i < len(e.deltas); i++ {
		if e.deltas[i].Type != typ {
			continue
		}
		e.deltas = slices.Delete(e.deltas, i, i+1)
		if i == second && i < len(e.deltas) && e.deltas[i].Type == e.deltas[e.begin].Type {
			e.deltas = slices.Delete(e.deltas, e.begin, second)
		}
		return
	}
}
