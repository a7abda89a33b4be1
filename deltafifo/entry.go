package deltafifo

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/store"
)

// entry is the queue's side of an [Entry]. It is queued, being processed, both at once, or idle: kept in case its key is
// queued again soon, as the few busy keys of a type are, which saves the key and two changes of the map.
type entry[T any] struct {
	state[T]
	deltas  []Delta[T] // nil unless it is queued
	list    uint64     // the last Replace that queued something for it, counted from 1
	initial bool       // queued, and part of the first Replace
	resting bool       // in the ring of idle entries
}

// state is what a key will be once its last delta has been processed.
type state[T any] struct {
	key  string
	uid  types.UID // of obj
	last Type
	obj  T
}

const (
	maxIdle     = 6    // idle entries kept; less than maxFew, so that there is room for one or two that are not
	maxSpare    = 64   // unused entries kept
	manyEntries = 1024 // a map that held more is given up once it holds none that matters
)

// pending reports whether an entry is queued or being processed: then its state is what its key will be afterwards.
// It needs mu.
func (q *Queue[T]) pending(e *entry[T]) bool {
	return e != nil && (e.deltas != nil || e == q.processing)
}

// enter returns a new entry for a key that has none. It needs mu.
func (q *Queue[T]) enter(key string) *entry[T] {
	if q.idle.len >= maxIdle && len(q.entries.many) == 0 {
		// The one that has been idle for longest would have to go when this one comes to rest. It stays, under another key.
		e := q.idle.pop()
		e.resting = false
		if !q.pending(e) {
			e.key, e.list = key, 0
			return e
		}
	}
	var e *entry[T]
	if n := len(q.spare); n > 0 {
		e, q.spare = q.spare[n-1], q.spare[:n-1]
	} else {
		e = new(entry[T])
	}
	e.key = key
	q.entries.put(e)
	return e
}

// rest takes note that an entry has been processed and may be idle. It needs mu.
func (q *Queue[T]) rest(e *entry[T]) {
	if q.order.len == 0 && q.entries.peak > manyEntries {
		// A map never gives memory back: after a burst it has to go. Nothing is queued or being processed.
		q.entries, q.idle = index[T]{}, ring[*entry[T]]{}
		return
	}
	q.retire(e)
	if q.order.len == 0 && len(q.entries.many) > 0 {
		q.entries.gather(&q.idle) // for nothing else is left
	}
}

// retire makes an entry idle, unless it is queued again, and lets the oldest idle one go if that is one too many. It needs mu.
func (q *Queue[T]) retire(e *entry[T]) {
	if e.deltas == nil {
		e.uid, e.last, e.obj = "", 0, *new(T) // let go of the object
	}
	if e.resting {
		return
	}
	e.resting = true
	q.idle.push(e)
	if q.idle.len <= maxIdle {
		return
	}
	old := q.idle.pop()
	old.resting = false
	if q.pending(old) {
		return // it will be back
	}
	q.entries.drop(old)
	if len(q.spare) < maxSpare {
		*old = entry[T]{}
		q.spare = append(q.spare, old)
	}
}

// reserve makes room for n entries, if that can be done without moving any. It needs mu.
func (q *Queue[T]) reserve(n int) {
	if n > manyEntries && q.order.len == 0 && q.processing == nil {
		q.entries, q.idle = index[T]{many: make(map[string]*entry[T], n), peak: n}, ring[*entry[T]]{}
	}
}

// another reports whether two UIDs are known and differ: one object was deleted, and another made under its name. An
// object without a UID, which a transform may have taken away, says nothing.
func another(a, b types.UID) bool { return a != b && a != "" && b != "" }

// identify appends the key of an object to buf, and returns it with the UID. It is what the queue asks of an object before
// it takes its lock; a nil object, a panic of a getter and an object without a name are errors.
func identify[T store.Object](buf []byte, obj T) (key []byte, uid types.UID, err error) {
	defer func() {
		if v := recover(); v != nil {
			_, err = store.KeyOf(obj) // says what is wrong with it in the same words as the store
			if err == nil {
				err = newPanicError("", v)
			}
		}
	}()
	// This is store.AppendKey, which would ask for the name once more.
	name := obj.GetName()
	if name == "" {
		_, err = store.KeyOf(obj)
		return nil, "", err
	}
	if namespace := obj.GetNamespace(); namespace != "" {
		buf = append(append(buf, namespace...), '/')
	}
	return append(buf, name...), obj.GetUID(), nil
}
