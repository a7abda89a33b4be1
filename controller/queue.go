package controller

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/option"
)

// ErrClosed is what [Queue.Get] returns when the queue is closed, and what [Run] returns if the
// program closes its queue.
var ErrClosed = errors.New("the work queue is closed")

// Queue is a work queue: it gives each key that was added to a worker, and never gives a key to two
// workers at once.
//
//	for {
//		key, err := q.Get(ctx)
//		if err != nil {
//			return err
//		}
//		if err := work(key); err != nil {
//			q.Retry(key, 0)
//		} else {
//			q.Forget(key)
//		}
//		q.Done(key)
//	}
//
// The rules:
//
//  1. A key waits once, however often it is added. It is given at the earliest of the times that it was added for, and with the
//     higher of the two priorities.
//  2. From Get to Done a key belongs to the worker that got it. If the key is added meanwhile, it waits again after Done.
//  3. Keys with one priority are given in the order in which they became ready. A key that was worked on goes to the end.
//  4. A key that was only added with AddInitial gives way to every other key, but of ten keys in a row that are given while such
//     a key is ready, one is such a key.
//  5. After a failure (Retry) a key waits for a delay, which doubles with each failure until Forget. If the key is added during
//     its delay, something has changed, and the delay ends early: not before a second has passed since the failure, though, so
//     that a worker cannot end its own delays by what it writes.
//
// All methods may be called from any goroutine, and none but Get and Drain waits.
type Queue[K comparable] struct {
	base, cap time.Duration
	rand      func() float64
	wake      chan struct{} // holds a token when a Get should look
	closed    chan struct{} // closed when Get gives no more keys
	idle      chan struct{} // closed when the queue takes no more keys, and none is ready or worked on

	mu        sync.Mutex
	items     map[K]*item[K]
	peak      int // the largest number of items since the map was made
	live      line[K]
	initial   line[K] // of keys that were only added with AddInitial
	overtaken int     // how many live keys in a row were given while an initial one was ready
	times     times[K]
	timer     *time.Timer // rings at armed
	armed     time.Time   // zero if the timer does not run
	working   map[*item[K]]struct{}
	held      int  // of working
	ending    bool // the queue takes no more keys
	totals    totals
}

// QueueOptions of a [Queue]. The zero value is ready. A time of more than a year counts as a year.
type QueueOptions struct {
	// BackoffBase is the delay after the first failure of a key. It doubles with each further
	// failure. Each delay is drawn at random between its value and twice its value. If zero, 5 ms
	// are used, as in client-go, so that a write that met a conflict is soon tried again:
	// https://pkg.go.dev/k8s.io/client-go/util/workqueue#DefaultTypedControllerRateLimiter
	//
	// If negative, there are no delays; use that in tests only.
	BackoffBase time.Duration

	// BackoffCap is the value that a delay stops growing at. If zero, 150 s are used, so that no
	// delay is longer than 5 minutes, which is also the limit of the delays of a container that
	// crashes: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
	//
	// If it is less than BackoffBase, every delay is BackoffBase.
	BackoffCap time.Duration

	// Rand returns numbers from 0 to 1, 1 excluded. If nil, math/rand/v2 is used. The queue calls
	// it under a lock.
	Rand func() float64
}

const (
	defaultBackoffBase = 5 * time.Millisecond
	defaultBackoffCap  = 150 * time.Second

	// changeFloor is how long a change waits if it comes right after a failure of its key.
	changeFloor = time.Second

	// maxOvertaken is how many live keys in a row are given while a key of the first list is ready.
	maxOvertaken = 9

	// If the map of items is empty, and has had more than manyItems, it is replaced, because maps
	// do not shrink.
	manyItems = 1000
)

// NewQueue returns an empty queue.
func NewQueue[K comparable](opts QueueOptions) *Queue[K] {
	q := &Queue[K]{
		base:    option.Time(opts.BackoffBase, defaultBackoffBase),
		cap:     option.Time(opts.BackoffCap, defaultBackoffCap),
		rand:    opts.Rand,
		wake:    make(chan struct{}, 1),
		closed:  make(chan struct{}),
		idle:    make(chan struct{}),
		items:   map[K]*item[K]{},
		working: map[*item[K]]struct{}{},
	}
	if q.rand == nil {
		q.rand = rand.Float64
	}
	return q
}

// Add adds keys: something has changed. No worker gets one of them before all are added. If the
// queue is closed or drains, Add does nothing; nor do the other methods that add.
func (q *Queue[K]) Add(keys ...K) { q.add(keys, 0, true) }

// AddInitial adds keys that somebody should look at, although nothing has changed: those of the
// first list.
func (q *Queue[K]) AddInitial(keys ...K) { q.add(keys, 0, false) }

// AddAfter adds a key when a duration has passed. If the key is given before that, the request has
// been met, and the queue forgets it: whoever works on the key asks again. So a key waits for one
// time at most.
func (q *Queue[K]) AddAfter(key K, after time.Duration) { q.add([]K{key}, after, true) }

func (q *Queue[K]) add(keys []K, after time.Duration, live bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return
	}
	now := time.Now()
	for _, key := range keys {
		q.want(q.item(key), now, now.Add(max(after, 0)), live)
	}
}

// Retry says that the work on a key has failed, and adds the key again when atLeast and the key's
// delay have passed. A worker calls it between Get and Done. If the key was added while it was
// worked on, rule 5 holds for that. Retry returns how long the key waits.
func (q *Queue[K]) Retry(key K, atLeast time.Duration) time.Duration {
	return q.fail(key, atLeast, false)
}

// fail is Retry. After a terminal failure the key waits for a change, or for atLeast if positive.
func (q *Queue[K]) fail(key K, atLeast time.Duration, terminal bool) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return 0
	}
	it, now := q.item(key), time.Now()
	if it.failures == 0 {
		q.totals.failing++
	}
	it.failures++
	q.totals.retries++
	pause, atLeast := q.pause(it.failures), max(atLeast, 0)
	soonest := now.Add(atLeast) // a Duration could not hold the sum if atLeast is very long, and a Time can
	it.notBefore = now.Add(min(pause, changeFloor))
	if terminal {
		pause = 0
	} else {
		it.notBefore = it.notBefore.Add(atLeast)
	}
	if it.again {
		it.again = false
		q.schedule(it, now, it.notBefore)
	}
	q.postpone(it)
	if !terminal || atLeast > 0 {
		q.want(it, now, soonest.Add(pause), it.givenLive)
	}
	if it.place == none {
		return 0
	}
	return it.due.Sub(now)
}

// pause draws the delay after a number of failures in a row.
func (q *Queue[K]) pause(failures int) time.Duration {
	if q.base == 0 { // off
		return 0
	}
	pause := q.base
	for range failures - 1 {
		if pause >= q.cap {
			break
		}
		pause = min(2*pause, q.cap)
	}
	return pause + time.Duration(q.rand()*float64(pause))
}

// Forget says that the work on a key has succeeded: the next failure is the first. A key that waits
// continues waiting.
func (q *Queue[K]) Forget(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.items[key]
	if it == nil || it.failures == 0 {
		return
	}
	it.failures, it.notBefore = 0, time.Time{}
	q.totals.failing--
	q.drop(it)
}

// Failures returns how often the work on a key has failed since the last Forget.
func (q *Queue[K]) Failures(key K) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it := q.items[key]; it != nil {
		return it.failures
	}
	return 0
}

// Get waits for a key. The caller calls Done when it has worked on it. Get returns ctx.Err() if ctx
// has ended, and [ErrClosed] if the queue is closed.
func (q *Queue[K]) Get(ctx context.Context) (K, error) {
	key, _, err := q.get(ctx)
	return key, err
}

// get also returns how long the key was ready.
func (q *Queue[K]) get(ctx context.Context) (key K, waited time.Duration, err error) {
	for {
		if err := ctx.Err(); err != nil {
			q.signal() // this Get may have taken the token, so another Get gets one
			return key, 0, err
		}
		if it, waited := q.take(); it != nil {
			return it.key, waited, nil
		}
		select {
		case <-q.wake:
		case <-q.closed:
			return key, 0, ErrClosed
		case <-ctx.Done():
		}
	}
}

// take gives the next key, if one is ready.
func (q *Queue[K]) take() (*item[K], time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := &q.live
	if q.live.len == 0 || q.initial.len > 0 && q.overtaken == maxOvertaken {
		from = &q.initial
	}
	it := from.first
	if it == nil {
		return nil, 0
	}
	if from == &q.live && q.initial.len > 0 {
		q.overtaken++
	} else {
		q.overtaken = 0
	}
	from.remove(it)
	now := time.Now()
	waited := now.Sub(it.since)
	it.given(now)
	q.working[it] = struct{}{}
	q.totals.given++
	q.totals.waited += waited
	if q.live.len+q.initial.len > 0 {
		q.signal()
	}
	return it, waited
}

// Done says that the caller, who got the key, no longer works on it. For a key that nobody works
// on, Done does nothing.
func (q *Queue[K]) Done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.items[key]
	if it == nil || !it.working {
		return
	}
	now := time.Now()
	if it.held {
		q.held--
	} else {
		q.totals.worked += now.Sub(it.began)
	}
	it.working, it.held = false, false
	delete(q.working, it)
	if it.again {
		it.again = false
		q.enqueue(it, now)
	}
	q.drop(it)
	q.settle()
}

// hold says that the caller no longer works on the key, and that it is not to be given before Done.
func (q *Queue[K]) hold(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.items[key]
	it.held = true
	q.held++
	q.totals.worked += time.Since(it.began)
	q.settle()
}

// Close ends the queue at once. Keys that wait are dropped, and Get returns [ErrClosed]. A second
// call does nothing.
func (q *Queue[K]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end()
	for _, l := range []*line[K]{&q.live, &q.initial} {
		for it := l.first; it != nil; it = l.first {
			l.remove(it)
			q.drop(it)
		}
	}
	for it := range q.working {
		it.again = false
	}
	if !isClosed(q.closed) {
		close(q.closed)
	}
	q.settle()
}

// Drain ends the queue when its work is done. It drops the keys that wait for a time, those in a
// delay included, and adds no more. Get continues to give the keys that are ready, and also a key
// that was added while it was worked on. When none is left and the last Done was called, the queue
// is closed and Drain returns nil. If ctx ends first, Drain closes the queue and returns ctx.Err().
// After Close, Drain waits for the calls of Done.
func (q *Queue[K]) Drain(ctx context.Context) error {
	q.mu.Lock()
	q.end()
	q.settle()
	q.mu.Unlock()
	select {
	case <-q.idle:
		return nil
	case <-ctx.Done():
		q.Close()
		return ctx.Err()
	}
}

// end stops the queue from taking keys, and drops those that wait for a time. The caller holds mu.
func (q *Queue[K]) end() {
	q.ending = true
	for len(q.times) > 0 {
		it := q.times[0]
		q.unschedule(it)
		q.drop(it)
	}
	if q.timer != nil {
		q.timer.Stop()
	}
}

// forget drops every key, and what is known of it. Nobody works on one.
func (q *Queue[K]) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items, q.peak = map[K]*item[K]{}, 0
	q.live, q.initial, q.times = line[K]{}, line[K]{}, nil
	q.totals.failing = 0
	q.settle()
}

// settle closes the queue if it has ended and nothing is left to do. The caller holds mu.
func (q *Queue[K]) settle() {
	if !q.ending || q.live.len+q.initial.len > 0 || isClosed(q.idle) {
		return
	}
	for it := range q.working {
		if !it.held || it.again { // a held key that nobody asks for is done
			return
		}
	}
	close(q.idle)
	if !isClosed(q.closed) {
		close(q.closed)
	}
}

// signal lets one Get look.
func (q *Queue[K]) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // there is a token already
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
