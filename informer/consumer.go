package informer

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/object"
)

// queues are where the entries come from: the queue of an Informer, or those of a MultiNamespace.
type queues[T object.Object] interface {
	// begin starts what fills the queues, until ctx ends. fail ends Run with an error.
	begin(ctx context.Context, fail context.CancelCauseFunc)

	// take waits for an entry and has the consumer apply it, unless ctx ends or the consumer is
	// woken before. It may do other work of the consumer.
	take(ctx context.Context, c *consumer[T]) (woken bool)

	// hasSynced reports whether the store has every first list.
	hasSynced() bool

	// end waits until nothing fills the queues any more, and closes them. The context of begin has
	// ended. Before it closes them, it may have the consumer apply entries. c is nil if there was
	// no Run.
	end(c *consumer[T])
}

// consumer is one Run: the goroutine that takes entries from the queue, writes to the store, and
// passes changes to the handlers. Between two entries, every handler has been given exactly what is
// in the store.
type consumer[T object.Object] struct {
	*cache[T]
	from       queues[T]
	handlers   []*subscriber[T]
	observers  []*observer[T]
	goroutines sync.WaitGroup
	synced     bool // the store holds the first list, and the handlers know
	timer      *time.Timer
	unlike     bool // objects have fields that equality.Semantic cannot compare
	exited     bool // a function of the program has ended its goroutine: the store may lack a change
}

// run takes entries until the context feeding ends: see [lifetime].
func (c *consumer[T]) run(telling, feeding context.Context) {
	woken := true // for the handlers that were added before Run
	for feeding.Err() == nil {
		if woken {
			c.attend(telling)
		}
		c.markSynced()
		woken = c.from.take(feeding, c)
	}
}

// process is apply, for a queue. It never fails.
func (c *consumer[T]) process(e deltafifo.Entry[T]) error { //nolint:unparam // Pop takes a function with an error
	c.apply(e)
	return nil
}

// apply brings the store up to date with an entry, and passes the changes to the handlers.
func (c *consumer[T]) apply(e deltafifo.Entry[T]) {
	c.markSynced()                      // if this is the first entry after the first list: run may not have heard yet that the list has come
	initial, listed := e.Initial, false // an event of an object in the first list may have joined the entry of the list
	for _, d := range e.Deltas {
		switch d.Type {
		case deltafifo.Added, deltafifo.Updated:
			c.put(e.Key, d.Object, false)
		case deltafifo.Replaced:
			c.put(e.Key, d.Object, initial)
			listed = true
		case deltafifo.Deleted:
			initial = initial && !listed // the next object of this name is of a later list
			c.remove(e.Key, d.Object, d.Tombstone != nil)
		case deltafifo.Sync:
			// unreachable: the reflector's resync is off.
		}
	}
}

// put stores an object. The type of the delta does not say whether the object is new, changed or
// the same: a server may repeat events, and an item of a list may be any of the three. If there was
// another object with this name, the deletion of that object has come before.
func (c *consumer[T]) put(key string, obj T, initial bool) {
	old, known := c.store.Get(key)
	if known && c.unchanged(old, obj) {
		return // the store keeps the object that the handlers have
	}
	if err := c.store.Update(obj); err != nil {
		// unreachable: an object without a name has no entry.
		panic("informer: " + err.Error())
	}
	c.keyed.wake(key)
	c.observe(Change[T]{Key: key, Old: old, Existed: known, New: obj, Exists: true, Initial: initial})
	c.tell(func(p *pending[T]) {
		if known {
			p.update(key, old, obj)
		} else {
			p.add(key, obj, initial)
		}
	})
}

func (c *consumer[T]) remove(key string, final T, inferred bool) {
	old, known := c.store.Get(key)
	if !known {
		return // no handler was told that it exists
	}
	if err := c.store.Delete(final); err != nil {
		// unreachable: an object without a name has no entry.
		panic("informer: " + err.Error())
	}
	c.keyed.wake(key)
	c.observe(Change[T]{Key: key, Old: old, Existed: true})
	c.tell(func(p *pending[T]) { p.remove(key, old, final, inferred) })
}

// tell changes what is pending for each handler.
func (c *consumer[T]) tell(f func(p *pending[T])) {
	for _, s := range c.handlers {
		s.tell(f)
	}
}

// unchanged reports whether b is the same state of the same object as a. The same UID and
// resourceVersion are not enough, because a server that was restored from a backup uses its
// versions again. Objects of some aggregated types have neither, and a transform may clear both:
// then the content alone decides.
func (c *consumer[T]) unchanged(a, b T) bool {
	return a.GetResourceVersion() == b.GetResourceVersion() && a.GetUID() == b.GetUID() && c.equal(a, b)
}

// equal compares two objects as the API server does: it compares quantities by their values, and a
// nil map equals an empty one. Types with unexported fields are no API types, and reflect.DeepEqual
// compares them. A lazy object says itself what equals it.
func (c *consumer[T]) equal(a, b T) (same bool) {
	if p := reflect.ValueOf(a); p.Kind() == reflect.Pointer && p.UnsafePointer() == reflect.ValueOf(b).UnsafePointer() {
		return true // the reflector puts the very same object into a list if it has not changed
	}
	if a, ok := any(a).(interface{ Equal(T) bool }); ok {
		return a.Equal(b)
	}
	if c.unlike {
		return reflect.DeepEqual(a, b)
	}
	defer func() {
		if recover() != nil {
			c.unlike = true
			same = reflect.DeepEqual(a, b)
		}
	}()
	return equality.Semantic.DeepEqual(a, b)
}

// attend runs after the consumer was woken. It removes and adds handlers and observers, and does
// the resyncs that are due.
func (c *consumer[T]) attend(ctx context.Context) {
	c.handlers = slices.DeleteFunc(c.handlers, (*subscriber[T]).hasQuit)
	c.dropObservers()
	joining, observing := c.takeJoining()
	for _, s := range joining {
		c.admit(ctx, s)
	}
	c.admitObservers(observing)
	c.remind(time.Now())
}

// takeJoining returns the handlers and the observers that were added since the last call. It
// forgets the handlers that have ended.
func (c *consumer[T]) takeJoining() (joining []*subscriber[T], observing []*observer[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = slices.DeleteFunc(c.members, (*subscriber[T]).hasQuit)
	joining, observing = c.joining, c.observing
	c.joining, c.observing = nil, nil
	return joining, observing
}

// admit adds a handler, which begins with the objects that the store has now.
func (c *consumer[T]) admit(ctx context.Context, s *subscriber[T]) {
	if !s.begin() {
		return // it was removed before it began
	}
	s.resync = newResync(s.handler.Resync, time.Now())
	s.replay(c.store.Snapshot())
	switch {
	case c.synced:
		s.markSynced()
	case c.ordered:
		s.awaitSynced()
	}
	c.handlers = append(c.handlers, s)
	c.goroutines.Go(func() { s.run(ctx, c.endTelling) })
}

// markSynced tells the observers and the handlers that the store holds the first list.
func (c *consumer[T]) markSynced() {
	if c.synced || !c.from.hasSynced() {
		return
	}
	c.synced = true
	for _, o := range c.observers {
		o.markSynced()
	}
	for _, s := range c.handlers {
		s.markSynced()
	}
}

// remind does the resyncs that are due, and sets a timer that wakes the consumer for the next one.
func (c *consumer[T]) remind(now time.Time) {
	var next time.Time
	for _, s := range c.handlers {
		if s.resync == nil {
			continue
		}
		s.remind(now, c.store)
		if at := s.resync.at(); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	switch {
	case next.IsZero():
	case c.timer == nil:
		c.timer = time.AfterFunc(next.Sub(now), c.wake.signal)
	default:
		c.timer.Reset(next.Sub(now))
	}
}
