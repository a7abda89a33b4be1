package deltafifo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/relist-go/relist/object"
)

// mark is a resourceVersion between two entries. All changes up to that version are in the entries
// before the mark, or have been processed.
type mark struct {
	after   uint64 // how many entries Pop must have taken before the mark is reached
	version string
}

// progress is how far the consumer has come. The queue's mu guards it.
//
// A mark is reached when every entry before it has been processed. It is passed when, in addition,
// no object's last processing has failed. Its version is then due until the queue calls
// Options.OnMarkPassed with it.
type progress struct {
	taken uint64     // entries that Pop has taken
	done  uint64     // entries that are processed, and whose marks Options.OnMarkPassed was called with
	marks ring[mark] // the marks that are not reached, oldest first; at most one between two entries
	last  mark       // the newest mark

	reached string              // the newest reached version that failed objects keep from being passed, or ""
	failed  map[string]struct{} // keys for whose last entry process failed
	due     string              // the argument of the next call of Options.OnMarkPassed, or ""
	handing bool                // a Pop is calling Options.OnMarkPassed
	handed  uint64              // how often Options.OnMarkPassed was called
	passed  string              // the version of the last of these calls

	// In the order in which they return, so that only the first of each is looked at.
	waits    []*waiter // calls of Wait
	versions []*waiter // calls of WaitForVersion
}

// waiter is a call of Wait or WaitForVersion.
type waiter struct {
	version string      // of WaitForVersion
	over    func() bool // needs mu
	done    chan error
}

// Mark tells the queue that it has received all changes up to a resourceVersion. The producer calls
// it.
//
// The mark stands behind the entries that wait. If another mark stands there, the new one replaces
// it, so there are never more marks than entries. The mark is passed when all entries before it
// have been processed. The consumer then has at least this version of every object. It may have
// newer versions of some objects, because later deltas may have joined an entry before the mark. If
// process has failed for an object, no mark is passed until process has succeeded for that object,
// or until the object is gone and the consumer never had it.
//
// Replace sets the mark of its list itself. A Mark of the same version right after it changes
// nothing.
//
// If a version of Mark or Replace is lower than the one before, the server's storage was rolled
// back, for example to a backup. The marks that still wait belong to another history, so the queue
// removes them. If the version is empty or "0", Mark does nothing.
func (q *Queue[T]) Mark(resourceVersion string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.rolledBack(resourceVersion)
	q.mark(resourceVersion)
	q.advance()
}

// mark sets a mark behind the entries that wait. It needs mu.
func (q *Queue[T]) mark(version string) {
	m := mark{after: q.taken + uint64(q.order.len), version: version}
	if object.IsAnyVersion(version) || m == q.last {
		return
	}
	q.last = m
	if n := q.marks.len; n > 0 && q.marks.at(n-1).after == m.after {
		q.marks.set(n-1, m)
		return
	}
	q.marks.push(m)
}

// rolledBack removes the marks that wait, if version is older than the last of them. It needs mu.
func (q *Queue[T]) rolledBack(version string) {
	if object.Older(version, q.last.version) {
		q.last, q.marks, q.reached = mark{}, ring[mark]{}, ""
	}
}

// advance removes the marks that are reached, and lets the calls that wait for them return. If the
// first list has been processed and Options.OnMarkPassed was called with its version, advance
// closes synced. It needs mu.
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
		if q.onPassed == nil {
			q.passed, q.due = q.due, ""
		}
	}
	if q.due != "" {
		q.signal() // a Pop calls handOver
		return
	}
	if !q.handing {
		q.done = processed
		if q.lists > 0 && q.initial == 0 && !q.HasSynced() {
			close(q.synced)
		}
	}
	q.release()
}

// handOver calls Options.OnMarkPassed with the version that is due. It needs mu, and releases it
// during the call.
func (q *Queue[T]) handOver() {
	version, passed := q.due, q.passed
	q.due, q.handing = "", true
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.handing, q.passed = false, passed
		q.handed++
		q.advance()
		q.signal()
	}()
	q.onPassed(version)
	passed = version // unless onPassed panics or calls runtime.Goexit
}

// account records whether process failed for the last entry of a key. It needs mu.
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

// forgetFailures removes failures of objects that are gone and that the consumer never had, because
// no later entry will succeed for them. It needs mu.
func (q *Queue[T]) forgetFailures(gone func(key string) bool) {
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

// Passed returns the version of the last mark that was passed; empty if there was none. See
// [Queue.Mark].
func (q *Queue[T]) Passed() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.passed
}

var errNoNumber = errors.New("want a decimal number, as a server gave it")

// WaitForVersion waits until a mark is passed whose version is resourceVersion or newer. It returns
// ctx.Err() if ctx ends first, and [ErrClosed] if the queue is closed. If the version is not a
// decimal number, it returns an error at once.
func (q *Queue[T]) WaitForVersion(ctx context.Context, resourceVersion string) error {
	if !object.IsComparable(resourceVersion) {
		return fmt.Errorf("deltafifo: wait for resourceVersion %q: %w", resourceVersion, errNoNumber)
	}
	q.mu.Lock()
	at := sort.Search(len(q.versions), func(i int) bool { return object.Older(resourceVersion, q.versions[i].version) })
	over := func() bool { return object.IsComparable(q.passed) && !object.Older(q.passed, resourceVersion) }
	return q.await(ctx, &q.versions, at, &waiter{version: resourceVersion, over: over})
}

// Wait waits until all entries that are queued now have been processed, and Options.OnMarkPassed
// has returned for the marks between them that are passed. An entry counts as processed also if
// process failed. If ctx ends first, Wait returns ctx.Err(), and if the queue is closed,
// [ErrClosed].
func (q *Queue[T]) Wait(ctx context.Context) error {
	q.mu.Lock()
	after, handed := q.taken+uint64(q.order.len), q.handed
	if q.handing {
		handed++
	}
	if q.due != "" {
		handed++
	}
	over := func() bool { return q.done >= after && q.handed >= handed } // neither number ever falls
	return q.await(ctx, &q.waits, len(q.waits), &waiter{over: over})
}

// await waits until w is over, at this place of waiters. It needs mu and releases it.
func (q *Queue[T]) await(ctx context.Context, waiters *[]*waiter, at int, w *waiter) error {
	if q.closed || w.over() {
		defer q.mu.Unlock()
		if q.closed {
			return ErrClosed
		}
		return nil
	}
	w.done = make(chan error, 1)
	*waiters = slices.Insert(*waiters, at, w)
	q.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		*waiters = slices.DeleteFunc(*waiters, func(other *waiter) bool { return other == w })
		return ctx.Err()
	}
}

// release lets the calls of Wait and WaitForVersion return whose condition is true, or all of them
// if the queue is closed. It needs mu.
func (q *Queue[T]) release() {
	var err error
	if q.closed {
		err = ErrClosed
	}
	for _, waiters := range [...]*[]*waiter{&q.waits, &q.versions} {
		for len(*waiters) > 0 && (q.closed || (*waiters)[0].over()) {
			(*waiters)[0].done <- err
			(*waiters)[0], *waiters = nil, (*waiters)[1:]
		}
	}
}
