package deltafifo

import (
	"errors"
	"slices"
	"sync"

	"github.com/relist-go/relist/object"
)

// ErrClosed is the error of Pop if the queue is closed and empty. The producer's calls return an
// error that wraps it if the queue is closed.
var ErrClosed = errors.New("deltafifo: the queue is closed")

// KnownObjects holds the objects that the queue has delivered to its consumer. A *store.Store
// implements it.
//
// The consumer's process function must update Known before it returns, or return an error. The
// queue calls Known's methods on the producer's goroutine, and holds no lock during the call.
type KnownObjects[T any] interface {
	Get(key string) (T, bool)
	Keys() []string
}

// Options configure a [Queue]. The zero value is ready.
type Options[T object.Object] struct {
	// Known holds the consumer's objects. If nil, the queue knows only objects that are queued or
	// being processed: Delete and Replace report no deletion of other objects, and Resync does
	// nothing.
	Known KnownObjects[T]

	// Coalesce limits the deltas that wait for a key to three. A slow consumer then costs memory
	// for each key, and not for each event. See rule 9 of [Queue]. If false, every delta is
	// delivered.
	Coalesce bool

	// OnMarkPassed is called with the version of a mark when the mark is passed, see [Queue.Mark].
	// Pop calls it while it waits for an entry, or after process has returned, and never while a
	// process function runs. Like process, it may call any method except Pop and Wait. For
	// [Queue.WaitForVersion] and [Queue.Passed], a mark is passed when it has returned; if it
	// panics instead, only a later mark is passed. If nil, no function is called.
	OnMarkPassed func(resourceVersion string)
}

// Queue is a queue of entries. There is one entry for each key, with the deltas of that key. The
// queue follows nine rules:
//
//  1. There is one entry per key, with that key's deltas oldest first. Entries leave in the order in which their keys were
//     first queued.
//  2. Two deletions in a row become one; an observed one is kept over an inferred one, the first of two observed, and the
//     last of two inferred.
//  3. Delete of a key that neither the queue nor Known holds does nothing. Of an object that is there with another UID it
//     makes the deletion of that one, with a Tombstone.
//  4. Replace queues a Replaced for every item in list order; then, by key, a Deleted with a Tombstone for every key that
//     is there and not in the list, once. An object that is there with another UID was deleted and made again: a Deleted
//     with a Tombstone comes before its Replaced.
//  5. What is being processed counts as there, or as gone if it is being deleted: for Replace, Delete and Resync.
//  6. Resync queues a Sync for every known key that is neither queued nor being processed.
//  7. No user code runs under the queue's lock. A process function that fails loses no entry: see [Queue.Pop].
//  8. HasSynced is true once the last entry of the first Replace has been processed, and [Options.OnMarkPassed] has returned
//     for the version of that list. If the list is empty and deletes nothing, only OnMarkPassed is waited for.
//  9. With [Options.Coalesce], an entry has at most three deltas: the last state of the first object, a deletion, and the last state of
//     the last object. A state has the type of its object's first delta: Added, Updated, Updated become Added. Only a Sync becomes
//     what follows. An object that came and went is left out, unless it was the first, because the consumer may know that one.
//
// There is one producer: Add, Update, Delete, DeleteInferred, Replace, Resync, Resumed, Mark and
// Keys are called from one goroutine, or one after the other. Everything else may be called from
// any goroutine.
type Queue[T object.Object] struct {
	known    KnownObjects[T]
	get      func(key string) (T, bool) // of known
	coalesce bool
	onPassed func(version string) // Options.OnMarkPassed
	synced   chan struct{}
	ready    chan struct{} // holds a token if there may be something for a Pop to do

	mu      sync.Mutex
	entries map[string]*entry[T] // queued or being processed
	peak    int                  // the most entries that there were since the map was made
	order   ring[*entry[T]]      // those queued
	spare   *entry[T]            // an unused entry for the next key, or nil; BenchmarkQueueAddPop: 48 bytes in 2 allocations with it, 160 in 3 without
	closed  bool

	processing *entry[T] // what Pop is at: at most one
	progress

	lists   uint64 // how many times Replace was called
	initial int    // entries of the first that have not been processed

	// While the producer reads Known without the lock: the keys whose processing ended meanwhile.
	watched bool
	ended   []string
}

// New returns an empty queue.
func New[T object.Object](opts Options[T]) *Queue[T] {
	q := &Queue[T]{
		known:    opts.Known,
		coalesce: opts.Coalesce,
		onPassed: opts.OnMarkPassed,
		entries:  map[string]*entry[T]{},
		synced:   make(chan struct{}),
		ready:    make(chan struct{}, 1),
	}
	if q.known != nil {
		q.get = q.known.Get
	}
	return q
}

// Len returns the number of keys that wait. The one being processed is not among them.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.order.len
}

// Entries returns the entries that wait, the oldest first, for those who look into a queue. Pop
// takes them.
func (q *Queue[T]) Entries() []Entry[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	entries := make([]Entry[T], q.order.len)
	for i := range entries {
		e := q.order.at(i)
		entries[i] = Entry[T]{Key: e.key, Initial: e.initial, Deltas: slices.Clone(e.deltas)}
	}
	return entries
}

// Synced returns a channel that is closed once HasSynced is true, see rule 8 of [Queue]. An entry
// that process failed on counts as processed; then OnMarkPassed is not waited for.
func (q *Queue[T]) Synced() <-chan struct{} { return q.synced }

// Get returns the object that there will be under key once everything that waits has been
// processed. Known is read for a key that neither waits nor is being processed.
func (q *Queue[T]) Get(key string) (T, bool) {
	q.mu.Lock()
	if e := q.entries[key]; q.pending(e) {
		defer q.mu.Unlock()
		return e.obj, e.last != Deleted
	}
	q.mu.Unlock()
	// Known has what was processed before: process brings it up to date before it returns.
	if q.known == nil {
		return *new(T), false
	}
	return q.get(key)
}

// Keys returns the keys of all objects that there will be once everything that waits has been
// processed, sorted. It is a call of the producer's.
func (q *Queue[T]) Keys() []string {
	var keys []string
	q.withKnown(func(v *knownView[T]) {
		keys = q.keys(v, func(*entry[T]) bool { return true })
		keys = slices.DeleteFunc(keys, func(key string) bool {
			_, ok := q.expected(key, v)
			return !ok
		})
	})
	return keys
}

// HasSynced reports whether the channel that [Queue.Synced] returns is closed.
func (q *Queue[T]) HasSynced() bool {
	select {
	case <-q.synced:
		return true
	default:
		return false
	}
}

// Close makes every later call of a producer return [ErrClosed], and Pop too once what is queued
// has been taken. Wait and WaitForVersion return it at once. Closing again does nothing.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.release()
	q.signal()
}

// signal puts the token into ready, if there is something for a Pop to do. It needs mu. A Pop that
// has received the token signals when it has processed its entry; if it had to leave the entry to
// another one, that one does.
func (q *Queue[T]) signal() {
	if q.order.len == 0 && q.due == "" && !q.closed {
		return
	}
	select {
	case q.ready <- struct{}{}:
	default: // it is there already
	}
}
