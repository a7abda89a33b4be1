package deltafifo

import (
	"fmt"
	"runtime/debug"

	"github.com/relist-go/relist/store"
	"k8s.io/apimachinery/pkg/types"
)

// Add queues an Added delta. An object without a key is an error, and nothing is queued.
func (q *Queue[T]) Add(obj T) error { return q.produce("add", Added, obj) }

// Update queues an Updated delta; see [Options.Coalesce]. Errors are those of Add.
func (q *Queue[T]) Update(obj T) error { return q.produce("update", Updated, obj) }

func (q *Queue[T]) produce(op string, t Type, obj T) error {
	key, uid, err := identify(obj)
	if err != nil {
		return fmt.Errorf("deltafifo: %s: %w", op, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fmt.Errorf("%s %q: %w", op, key, ErrClosed)
	}
	q.push(key, uid, Delta[T]{Type: t, Object: obj})
	return nil
}

// Delete queues a Deleted delta, unless the object is gone already: it is neither queued nor known, or its deletion is
// queued or being processed. An observed deletion takes the place of an inferred one that is still queued.
// Errors are those of Add, and a [PanicError] if Known panics.
func (q *Queue[T]) Delete(obj T) error {
	key, uid, err := identify(obj)
	if err != nil {
		return fmt.Errorf("deltafifo: delete: %w", err)
	}
	d := Delta[T]{Type: Deleted, Object: obj}

	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return fmt.Errorf("delete %q: %w", key, ErrClosed)
	}
	s, ok := q.pending(key)
	queued := q.entries[key] != nil
	if queued || (ok && s.last != Deleted) {
		q.push(key, uid, d)
		q.mu.Unlock()
		return nil
	}
	q.mu.Unlock()
	if ok || q.known == nil {
		return nil // it is being deleted, or nobody knows it
	}
	// The key is not queued and there is one producer: what Known says of it stays true.
	known := false
	if err := guard(func() { _, known = q.known.Get(key) }); err != nil {
		return fmt.Errorf("deltafifo: delete %q: known objects: %w", key, err)
	}
	if known {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.push(key, uid, d)
	}
	return nil
}

// pending returns what a key will be once everything queued or being processed has been. It needs mu.
func (q *Queue[T]) pending(key string) (state[T], bool) {
	if e := q.entries[key]; e != nil {
		return e.state, true
	}
	if q.busy && q.processing.key == key {
		return q.processing, true
	}
	return state[T]{}, false
}

// push appends a delta to the entry of key, and makes one at the end of the queue if there is none. It needs mu.
func (q *Queue[T]) push(key string, uid types.UID, d Delta[T]) *entry[T] {
	e := q.entries[key]
	if e == nil {
		e = q.newEntry()
		e.key = key
		e.deltas = []Delta[T]{d}
		q.entries[key] = e
		q.order.push(e)
		q.peak = max(q.peak, q.order.len)
		q.signal()
	} else {
		e.deltas = q.join(e, uid, d)
	}
	last := e.deltas[len(e.deltas)-1]
	e.last, e.obj = last.Type, last.Object
	e.uid = uid
	return e
}

// join returns the deltas of e with d at the end, or in the place of one that it makes superfluous.
func (q *Queue[T]) join(e *entry[T], uid types.UID, d Delta[T]) []Delta[T] {
	last := &e.deltas[len(e.deltas)-1]
	switch {
	case d.Type == Deleted && last.Type == Deleted:
		// Two deletions in a row are one; what was observed is better than what was inferred.
		if last.Tombstone != nil {
			*last = d
		}
		return e.deltas
	case q.coalesce && d.Type == Updated && last.Type == Updated && !another(e.uid, uid):
		*last = d
		return e.deltas
	}
	return append(e.deltas, d)
}

// reserve makes room for the first n entries of a queue that is empty. It needs mu.
func (q *Queue[T]) reserve(n int) {
	if len(q.entries) == 0 && n > manyEntries {
		q.entries = make(map[string]*entry[T], n)
	}
}

func (q *Queue[T]) newEntry() *entry[T] {
	if n := len(q.spare); n > 0 {
		e := q.spare[n-1]
		q.spare = q.spare[:n-1]
		return e
	}
	return new(entry[T])
}

// another reports whether two UIDs are known and differ: one object was deleted, and another made under its name. An
// object without a UID, which a transform may have taken away, says nothing.
func another(a, b types.UID) bool { return a != b && a != "" && b != "" }

// identify returns what the queue asks of an object before it takes its lock.
func identify[T store.Object](obj T) (key string, uid types.UID, err error) {
	if key, err = store.KeyOf(obj); err != nil {
		return "", "", err
	}
	if err := guard(func() { uid = obj.GetUID() }); err != nil {
		return "", "", fmt.Errorf("uid of object %q: %w", key, err)
	}
	return key, uid, nil
}

// guard calls f, which is or contains user code, and returns its panic as an error.
func guard(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	f()
	return nil
}
