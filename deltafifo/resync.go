package deltafifo

import "fmt"

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
