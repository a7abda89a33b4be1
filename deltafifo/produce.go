package deltafifo

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// Add queues an Added delta. An object without a key is an error, and nothing is queued.
func (q *Queue[T]) Add(obj T) error { return q.produce("add", Added, obj) }

// Update queues an Updated delta; see [Options.Coalesce]. Errors are those of Add.
func (q *Queue[T]) Update(obj T) error { return q.produce("update", Updated, obj) }

func (q *Queue[T]) produce(op string, t Type, obj T) error {
	var buf [keySize]byte
	key, uid, err := identify(buf[:0], obj)
	if err != nil {
		return fmt.Errorf("deltafifo: %s: %w", op, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fmt.Errorf("%s %q: %w", op, string(key), ErrClosed)
	}
	e := q.entries[string(key)]
	if e == nil {
		e = q.enter(string(key))
	}
	q.push(e, uid, Delta[T]{Type: t, Object: obj})
	return nil
}

// Delete queues a Deleted delta, unless the object is gone already: it is neither queued nor known, or its deletion is
// being processed. An observed deletion takes the place of an inferred one that is still queued.
//
// If the object that is there has another UID, then that one is gone, because a name has one object at a time, and its
// deletion is inferred. The consumer never learned of the newer object, so its deletion is not reported.
//
// Errors are those of Add, and a [PanicError] if Known panics.
func (q *Queue[T]) Delete(obj T) error { return q.delete(obj, false) }

// DeleteInferred queues a Deleted delta with a Tombstone, where Delete would queue one without: for an object that is
// gone, the caller does not know in which state. obj is its last known state.
func (q *Queue[T]) DeleteInferred(obj T) error { return q.delete(obj, true) }

func (q *Queue[T]) delete(obj T, inferred bool) error {
	var buf [keySize]byte
	key, uid, err := identify(buf[:0], obj)
	if err != nil {
		return fmt.Errorf("deltafifo: delete: %w", err)
	}
	d := Delta[T]{Type: Deleted, Object: obj}
	if inferred {
		d.Tombstone = &DeletedFinalStateUnknown[T]{Key: string(key), Obj: obj}
	}
	// If the key is not pending now, then it will not be in a moment, for there is one producer; and what Known says of it
	// stays true.
	if done, err := q.deletePending(key, uid, d); done || err != nil {
		return err
	}
	known, k := false, string(key)
	there := state[T]{key: k}
	err = guard(func() {
		if q.known == nil {
			return
		}
		if there.obj, known = q.get(k); known {
			there.uid = there.obj.GetUID()
		}
	})
	if err != nil {
		return fmt.Errorf("deltafifo: delete %q: known objects: %w", k, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return fmt.Errorf("delete %q: %w", k, ErrClosed)
	case !known:
		q.forgive(func(failed string) bool { return failed == k })
		return nil
	}
	if object.Another(there.uid, uid) {
		uid, d = there.uid, there.inferred()
	}
	q.push(q.entry(k), uid, d)
	return nil
}

// deletePending deals with the deletion of an object that is queued or being processed, and reports whether it was.
func (q *Queue[T]) deletePending(key []byte, uid types.UID, d Delta[T]) (done bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, fmt.Errorf("delete %q: %w", string(key), ErrClosed)
	}
	e := q.entries[string(key)]
	if !q.pending(e) {
		return false, nil
	}
	if e.deltas == nil && e.last == Deleted {
		return true, nil // the consumer is deleting it now
	}
	if e.last != Deleted && object.Another(e.uid, uid) {
		uid, d = e.uid, e.inferred()
	}
	q.push(e, uid, d)
	return true, nil
}

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

// keySize is the length of the longest key that is not a custom resource's odd one: a namespace of 63 bytes, a slash and a
// name of 253. A longer one costs an allocation.
const keySize = 63 + 1 + 253
