package deltafifo

import (
	"context"
	"fmt"
	"slices"

	"github.com/relist-go/relist/object"
)

// mark is a resourceVersion between two entries: everything up to it is in the entries before it, or was processed.
type mark struct {
	after   uint64 // how many entries Pop has to take before
	version string
}

// progress is how far the consumer has come. The queue's mu guards it.
//
// A mark is reached when every entry before it has been processed. It is passed if no object has failed; or else when those
// that failed have been mended. Then its version is due until Options.Passed has heard of it.
type progress struct {
	taken uint64     // entries that Pop has taken
	done  uint64     // entries that are processed, and whose marks Options.Passed has heard of
	marks ring[mark] // not reached, oldest first, with one between two entries at most
	last  string     // the version of the newest mark

	reached string              // the newest version that failed entries keep from being passed, or ""
	failed  map[string]struct{} // keys whose last entry process has failed on
	due     string              // the version that Options.Passed is to be told, or ""
	handing bool                // a Pop is telling it one
	handed  uint64              // how many it has been told
	passed  string              // the last of these

	waiters []*waiter
}

// waiter is a call of Wait or WaitFor.
type waiter struct {
	over func() bool // needs mu
	done chan struct{}
	err  error // set before done is closed
}

// Mark says that everything up to a resourceVersion has been given to the queue. The producer calls it.
//
// The mark stands behind the entries that wait, and takes the place of another one that stands there, so there are never
// more marks than entries. It is passed when all that stands before it has been processed: then the consumer has at least
// this version, and something newer of the objects whose later deltas have joined an entry before the mark. While process
// has failed for an object, no mark is passed: not until it has succeeded for that object, or the object is gone and was
// never known.
//
// A version that is lower than the one before says that the server's storage went back, as after the restoration of a
// backup, and so does a lower version of Replace: the marks that still wait are of another history, and are removed. A
// version that is empty or "0" marks nothing.
func (q *Queue[T]) Mark(resourceVersion string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if object.Any(resourceVersion) || q.closed {
		return
	}
	q.wentBack(resourceVersion)
	q.last = resourceVersion
	m := mark{after: q.taken + uint64(q.order.len), version: resourceVersion}
	if n := q.marks.len; n > 0 && q.marks.at(n-1).after == m.after {
		q.marks.set(n-1, m)
		return // what is before it waits, or else it would have been reached
	}
	q.marks.push(m)
	q.advance()
}

// wentBack removes the marks that wait, if version is older than the last of them. It needs mu.
func (q *Queue[T]) wentBack(version string) {
	if object.Older(version, q.last) {
		q.last, q.marks, q.reached = version, ring[mark]{}, ""
	}
}

// advance takes the marks that are reached, and ends the calls that wait for them. It needs mu.
func (q *Queue[T]) advance() {
	processed := q.taken
	if q.processing != nil {
		processed--
	}
	for q.marks.len > 0 && q.marks.at(0).after <= processed {
		q.reached = q.marks.pop().version
	}
	if q.reached != "" && len(q.failed) == 0 {
		q.due, q.reached = q.reached, ""
		if q.tell == nil {
			q.passed, q.due = q.due, ""
		}
	}
	if q.due != "" {
		q.signal() // a Pop hands it over
		return
	}
	if !q.handing {
		q.done = processed
	}
	q.release()
}

// handOver tells Options.Passed of the version that is due. It needs mu, which it releases meanwhile.
func (q *Queue[T]) handOver() error {
	version := q.due
	q.due, q.handing = "", true
	defer func() {
		q.mu.Lock()
		q.handing, q.passed = false, version
		q.handed++
		q.advance()
		q.signal()
	}()
	q.mu.Unlock()
	if err := guard(func() { q.tell(version) }); err != nil {
		return fmt.Errorf("deltafifo: Options.Passed of resourceVersion %s: %w", version, err)
	}
	return nil
}

// account notes whether the consumer has an object as its entry said. It needs mu.
func (q *Queue[T]) account(key string, failed bool) {
	switch {
	case !failed:
		delete(q.failed, key)
	case q.failed == nil:
		q.failed = map[string]struct{}{key: {}}
	default:
		q.failed[key] = struct{}{}
	}
}

// forgive forgets that process has failed on objects that are gone and that the consumer never had: nobody will mend them.
// It needs mu.
func (q *Queue[T]) forgive(gone func(key string) bool) {
	if len(q.failed) == 0 {
		return
	}
	for key := range q.failed {
		if !q.pending(q.entries[key]) && gone(key) {
			delete(q.failed, key)
		}
	}
	q.advance()
}

// Passed returns the version of the last mark that was passed; empty if there was none. See [Queue.Mark].
func (q *Queue[T]) Passed() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.passed
}

// WaitFor waits until a mark is passed whose version is resourceVersion or newer. It returns ctx.Err() if ctx ends before,
// [ErrClosed] if the queue is closed, and at once an error for a version that is not a decimal number.
func (q *Queue[T]) WaitFor(ctx context.Context, resourceVersion string) error {
	if !object.Ordered(resourceVersion) {
		return fmt.Errorf("deltafifo: wait for resourceVersion %q: %w", resourceVersion, errNoNumber)
	}
	q.mu.Lock()
	return q.await(ctx, func() bool { return object.Ordered(q.passed) && !object.Older(q.passed, resourceVersion) })
}

// Wait waits until all that is queued now has been processed, and Options.Passed has heard of the marks among it. An entry
// that process failed on counts as processed. Errors are those of [Queue.WaitFor].
func (q *Queue[T]) Wait(ctx context.Context) error {
	q.mu.Lock()
	after, handed := q.taken+uint64(q.order.len), q.handed
	if q.handing {
		handed++
	}
	if q.due != "" {
		handed++
	}
	return q.await(ctx, func() bool { return q.done >= after && q.handed >= handed })
}

// await waits until over, which needs mu, says true. It needs mu and releases it.
func (q *Queue[T]) await(ctx context.Context, over func() bool) error {
	if q.closed || over() {
		defer q.mu.Unlock()
		if q.closed {
			return ErrClosed
		}
		return nil
	}
	w := &waiter{over: over, done: make(chan struct{})}
	q.waiters = append(q.waiters, w)
	q.mu.Unlock()
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		q.waiters = slices.DeleteFunc(q.waiters, func(other *waiter) bool { return other == w })
		return ctx.Err()
	}
}

// release ends the calls of Wait and WaitFor that have what they wait for, or all if the queue is closed. It needs mu.
func (q *Queue[T]) release() {
	q.waiters = slices.DeleteFunc(q.waiters, func(w *waiter) bool {
		switch {
		case q.closed:
			w.err = ErrClosed
		case !w.over():
			return false
		}
		close(w.done)
		return true
	})
}
