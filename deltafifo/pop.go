package deltafifo

import "context"

// Pop waits for an entry, takes the oldest one, calls process with it, and returns the error of process. It returns
// ctx.Err() if ctx ends first, and [ErrClosed] if the queue is closed and empty.
//
// Pop removes the entry in any case. If process returns an error, Pop does not put the entry back, and HasSynced becomes
// true all the same; process can keep the entry to try again. But no mark is passed while process has failed for an
// object's last entry, see [Queue.Mark].
//
// Pop also calls [Options].Passed, while it waits and after process.
//
// Pop holds no lock while process runs. process may call any method except Pop and Wait, which would never return.
// Several goroutines may call Pop; their process functions run one after the other, in the order of the queue.
func (q *Queue[T]) Pop(ctx context.Context, process func(Entry[T]) error) error {
	if process == nil {
		return errNoProcess
	}
	var e Entry[T]
	if err := q.take(ctx, &e); err != nil {
		return err
	}
	err := process(e)
	q.finish(e.Initial, err != nil)
	return err
}

// take waits for its turn and for an entry, and moves it from the queue to e.
func (q *Queue[T]) take(ctx context.Context, e *Entry[T]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			q.signal() // this Pop may have taken the token from wake, so another Pop gets one
			return err
		}
		turn := q.processing == nil && !q.handing
		if turn && q.due != "" {
			q.handOver()
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

// finish records that the entry that begin took has been processed.
func (q *Queue[T]) finish(initial, failed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.processing
	q.processing = nil
	if q.watched {
		q.ended = append(q.ended, e.key)
	}
	if initial {
		q.initial--
	}
	q.account(e.key, failed)
	q.leave(e)
	q.advance()
	q.signal()
	if q.due != "" {
		q.handOver()
	}
}
