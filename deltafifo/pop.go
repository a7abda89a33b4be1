package deltafifo

import (
	"context"
	"errors"
)

// Pop waits for an entry, takes the oldest one, calls process with it, and returns the error of
// process. It returns ctx.Err() if ctx ends first, and [ErrClosed] if the queue is closed and
// empty.
//
// Pop removes the entry in any case. If process returns an error, Pop does not put the entry back,
// and HasSynced becomes true all the same; process can keep the entry to try again. But no mark is
// passed while process has failed for an object's last entry, see [Queue.Mark]. A panic of process,
// or a call of runtime.Goexit, counts as a failure, too: it goes through Pop, and a later Pop takes
// the next entry.
//
// Pop also calls [Options.OnMarkPassed], while it waits and after process.
//
// Pop holds no lock while process runs. process may call any method except Pop and Wait, which
// would never return. Several goroutines may call Pop; their process functions run one after the
// other, in the order of the queue.
func (q *Queue[T]) Pop(ctx context.Context, process func(Entry[T]) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for {
		if taken, err := q.TryPop(process); taken || err != nil {
			return err
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Ready returns a channel for a consumer that also waits for other things. Whenever the consumer
// receives from it, the consumer must call [Queue.TryPop], which may then find an entry, or a
// version to call [Options.OnMarkPassed] with, or nothing.
func (q *Queue[T]) Ready() <-chan struct{} { return q.ready }

var errNoProcess = errors.New("deltafifo: pop: the process function is nil; nothing was taken from the queue")

// TryPop does what [Queue.Pop] does, but does not wait: it returns false if there is no entry, or
// if another one is being processed. So process may call it.
func (q *Queue[T]) TryPop(process func(Entry[T]) error) (taken bool, err error) {
	if process == nil {
		return false, errNoProcess
	}
	var e Entry[T]
	if taken, err := q.take(&e); !taken {
		return false, err
	}
	failed := true // if process does not return, because it panics or calls runtime.Goexit
	defer func() { q.finish(e.Initial, failed) }()
	err = process(e)
	failed = err != nil
	return true, err
}

// take moves the oldest entry from the queue to e, if there is one and none is being processed.
func (q *Queue[T]) take(e *Entry[T]) (taken bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.due != "" && q.idle() {
		q.handOver()
	}
	switch {
	case q.order.len > 0 && q.idle():
		q.begin(e)
		return true, nil
	case q.order.len == 0 && q.closed:
		q.signal() // for the next Pop
		return false, ErrClosed
	}
	return false, nil
}

// idle reports whether neither process nor Options.OnMarkPassed is running. It needs mu.
func (q *Queue[T]) idle() bool { return q.processing == nil && !q.handing }

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
