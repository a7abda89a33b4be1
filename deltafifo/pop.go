package deltafifo

import "context"

// Pop waits for an entry, takes the oldest and returns what process returns for it. It returns ctx.Err() when ctx ends
// first, and [ErrClosed] once the queue is closed and empty.
//
// The entry is consumed whatever process does: an error or a panic, which Pop returns as a [PanicError], neither puts it
// back nor keeps HasSynced from becoming true, and the entries behind it are not touched. Who wants it again has it at
// hand. But no mark is passed while an object's last entry has failed, see [Queue.Mark].
//
// Pop is also what calls [Options].Passed: while it waits, and after process.
//
// No lock is held while process runs: it may call any method but Pop and Wait, for which it would wait for ever. Several
// goroutines may call Pop; their process functions run one after the other, so that the order of the queue holds.
func (q *Queue[T]) Pop(ctx context.Context, process func(Entry[T]) error) (err error) {
	if process == nil {
		return errNoProcess
	}
	var e Entry[T]
	if err := q.take(ctx, &e); err != nil {
		return err
	}
	// Deferred, because process may end by a panic or by runtime.Goexit (t.FailNow in a test).
	returned := false
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(e.Key, v)
		}
		if told := q.finish(e.Initial, !returned || err != nil); err == nil {
			err = told
		}
	}()
	err = process(e)
	returned = true
	return err
}

// take waits for its turn and for an entry, and moves it from the queue to e.
func (q *Queue[T]) take(ctx context.Context, e *Entry[T]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			q.signal() // this Pop may have been called to look; another has to, then
			return err
		}
		turn := q.processing == nil && !q.handing
		if turn && q.due != "" {
			if err := q.handOver(); err != nil {
				return err
			}
			continue
		}
		if turn && q.order.len > 0 {
			q.begin(e)
			return nil
		}
		if q.closed && q.order.len == 0 {
			q.signal()
			return ErrClosed
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

// begin moves the oldest entry to out. It needs mu.
func (q *Queue[T]) begin(out *Entry[T]) {
	e := q.order.pop()
	out.Key, out.Deltas, out.Initial = e.key, e.deltas, e.initial
	e.deltas, e.initial = nil, false
	q.processing = e
	q.taken++
}

// finish accounts for the entry that begin took. It returns an error of Options.Passed.
func (q *Queue[T]) finish(initial, failed bool) error {
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
	q.account(e.key, failed)
	q.leave(e)
	q.advance()
	q.signal()
	if q.due != "" {
		return q.handOver()
	}
	return nil
}
