package deltafifo

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
)

// Add queues an Added delta. If the object has no key, Add returns an error and queues nothing.
func (q *Queue[T]) Add(obj T) error { return q.produce("add", Added, obj) }

// Update queues an Updated delta; see [Options.Coalesce]. It returns the same errors as Add.
func (q *Queue[T]) Update(obj T) error { return q.produce("update", Updated, obj) }

func (q *Queue[T]) produce(op string, t Type, obj T) error {
	var buf [object.KeySize]byte
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

// Delete queues a Deleted delta. It queues nothing if the object is gone already, because it is
// neither queued nor known, or because its deletion is being processed. An observed deletion
// replaces an inferred one that is still queued.
//
// If the object under the key has another UID than obj, then it is gone, because a name has one
// object at a time, and Delete queues its inferred deletion. The consumer never learned of obj, so
// Delete does not report its deletion.
//
// Delete returns the same errors as Add.
func (q *Queue[T]) Delete(obj T) error { return q.delete(obj, false) }

// DeleteInferred does what Delete does, but its Deleted delta has a Tombstone. It is for an object
// that is gone and whose final state the caller does not know. obj is the last known state.
func (q *Queue[T]) DeleteInferred(obj T) error { return q.delete(obj, true) }

func (q *Queue[T]) delete(obj T, inferred bool) error {
	var buf [object.KeySize]byte
	key, uid, err := identify(buf[:0], obj)
	if err != nil {
		return fmt.Errorf("deltafifo: delete: %w", err)
	}
	d := Delta[T]{Type: Deleted, Object: obj}
	if inferred {
		d.Tombstone = &DeletedFinalStateUnknown[T]{Key: string(key), Object: obj}
	}
	// If the key is not pending now, it stays so while this call reads Known, because there is only
	// one producer. So Known does not change for this key either.
	if done, err := q.deletePending(key, uid, d); done || err != nil {
		return err
	}
	known, k := false, string(key)
	there := state[T]{key: k}
	if q.known != nil {
		if there.obj, known = q.get(k); known {
			there.uid = there.obj.GetUID()
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return fmt.Errorf("delete %q: %w", k, ErrClosed)
	case !known:
		q.forgetFailures(func(failed string) bool { return failed == k })
		return nil
	}
	if object.DifferentUID(there.uid, uid) {
		uid, d = there.uid, there.inferred()
	}
	q.push(q.entry(k), uid, d)
	return nil
}

// deletePending handles the deletion of an object that is queued or being processed. It returns
// false if the object is neither.
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
	if e.last != Deleted && object.DifferentUID(e.uid, uid) {
		uid, d = e.uid, e.inferred()
	}
	q.push(e, uid, d)
	return true, nil
}

// identify appends the key of an object to buf, and returns the key and the UID. The queue calls it
// before it takes its lock, because it runs user code. It returns an error for an object without a
// name.
func identify[T object.Object](buf []byte, obj T) (key []byte, uid types.UID, err error) {
	name := obj.GetName()
	if name == "" {
		_, err = object.KeyOf(obj)
		return nil, "", err
	}
	return object.AppendKey(buf, obj.GetNamespace(), name), obj.GetUID(), nil
}
