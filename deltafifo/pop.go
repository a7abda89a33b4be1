package deltafifo

import "context"

// Pop waits for an entry, takes the oldest and returns what process returns for it. It returns ctx.Err() when ctx ends
// first, and [ErrClosed] once the queue is closed and empty.
//
// The entry is consumed whatever process does: an error or a panic, which Pop returns as a [PanicError], neither puts it
// back nor keeps HasSynced from becoming true, and the entries behind it are not touched. Who wants it again has it at hand.
//
// No lock is held while process runs: it may call any method but Pop, for which it would wait for ever. Several goroutines
// may call Pop; their process functions run one after the other, so that the order of the queue holds.
func (q *Queue[T]) Pop(ctx context.Context, process func(Entry[T]) error) (err error) {
	if process == nil {
		return errNoProcess
	}
	e, err := q.take(ctx)
	if err != nil {
		return err
	}
	// Deferred, because process may end by a panic or by runtime.Goexit (t.FailNow in a test).
	defer q.finish(e.Initial)
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(e.Key, v)
		}
	}()
	return process(e)
}

// take waits for its turn and for an entry, and removes it from the queue.
func (q *Queue[T]) take(ctx context.Context) (Entry[T], error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			q.signal() // this Pop may have been called to look; another has to, then
			return Entry[T]{}, err
		}
		if q.processing == nil && q.order.len > 0 {
			return q.begin(), nil
		}
		if q.closed && q.order.len == 0 {
			q.signal()
			return Entry[T]{}, ErrClosed
		}
		q.waiting++
		q.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-q.wake:
		}
		q.mu.Lock()
		q.waiting--
	}
}

// begin takes the oldest entry. It needs mu.
func (q *Queue[T]) begin() Entry[T] {
	e := q.order.pop()
	out := Entry[T]{Key: e.key, Deltas: e.deltas, Initial: e.initial}
	e.deltas, e.initial = nil, false
	q.processing = e
	return out
}

// finish accounts for the entry that begin took.
func (q *Queue[T]) finish(initial bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.processing
	q.processing = nil
	if q.watched {
		q.ended = append(q.ended, e.key)
	}
	if initial {
		q.initial--
		if q.initial == 0 {
			close(q.synced)
		}
	}
	q.rest(e)
	q.signal()
}
