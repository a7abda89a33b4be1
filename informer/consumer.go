package informer

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

// consumer is one Run: the goroutine that takes from the queue, owns the store, and feeds the handlers. What it does
// between two entries sees the store and what handlers were told agree.
type consumer[T store.Object] struct {
	*Informer[T]
	handlers   []*subscriber[T]
	goroutines sync.WaitGroup
	reports    reports
	synced     bool // and the handlers have been told
	timer      *time.Timer
	broken     map[string]string // the resourceVersion of an object that could not be indexed, by key
	unlike     bool              // objects have fields that equality.Semantic cannot compare
}

// run consumes until ctx ends. Then no callback begins any more, for the handlers have the same ctx.
func (c *consumer[T]) run(ctx context.Context) {
	c.goroutines.Go(func() {
		select {
		case <-c.queue.Synced():
			c.bell.ring() // there may be no entry to take, if the first list was empty
		case <-c.ended:
		}
	})
	waiting := ctx
	c.bell.ring() // for the handlers that were added before Run
	for ctx.Err() == nil {
		var rung bool
		if waiting, rung = c.bell.hear(ctx, waiting); rung {
			c.attend(ctx)
		}
		c.markSynced()
		_ = c.queue.Pop(waiting, c.apply) // an error says that the bell was rung or that ctx has ended
	}
}

// apply brings the store up to date with an entry, and tells the handlers. It never fails: an object on which code of the
// program's own panicked is reported, and counts as processed, so that nobody waits for it.
func (c *consumer[T]) apply(e deltafifo.Entry[T]) error {
	defer func() {
		if v := recover(); v != nil { // a getter of the object's
			c.reportLater(e.Key, fmt.Errorf("informer: %w", &deltafifo.PanicError{Key: e.Key, Value: v, Stack: debug.Stack()}))
		}
	}()
	for _, d := range e.Deltas {
		switch d.Type {
		case deltafifo.Added, deltafifo.Updated, deltafifo.Replaced:
			c.put(e.Key, d.Object, e.Initial)
		case deltafifo.Deleted:
			c.remove(e.Key, d.Object, d.Tombstone != nil)
		case deltafifo.Sync:
			// unreachable: the reflector's resync is off.
		}
	}
	return nil
}

// put stores an object that is new, changed or the same. What the server calls it does not matter: it may repeat itself,
// and a list does not say. If there was another object of that name, its deletion came before.
func (c *consumer[T]) put(key string, obj T, initial bool) {
	old, known := c.store.Get(key)
	if known && c.unchanged(old, obj) {
		return // the one that everybody has stays in the store
	}
	if err := c.store.Update(obj); err != nil {
		c.broke(key, obj.GetResourceVersion(), err)
		return
	}
	delete(c.broken, key)
	for _, s := range c.handlers {
		if known {
			s.updated(key, old, obj)
		} else {
			s.added(key, obj, initial)
		}
	}
}

// broke reports that the store is as it was before, because code of the program's own panicked. A list brings the object again as
// it was, and then there is nothing new to report: a program that has the cache listed when it is told does not do so for ever.
func (c *consumer[T]) broke(key, version string, err error) {
	if before, reported := c.broken[key]; reported && before == version && version != "" {
		return
	}
	if c.broken == nil {
		c.broken = map[string]string{}
	}
	c.broken[key] = version
	c.reportLater(key, fmt.Errorf("informer: %w", err))
}

// remove removes an object from the store.
func (c *consumer[T]) remove(key string, final T, unknown bool) {
	delete(c.broken, key)
	old, known := c.store.Get(key)
	if !known {
		return // nobody was told that it exists
	}
	if err := c.store.Delete(final); err != nil { // a getter of the object's panicked
		c.broke(key, "", err)
		return
	}
	for _, s := range c.handlers {
		s.deleted(key, old, final, unknown)
	}
}

// unchanged reports whether b is the same state of the same object as a. The UID and the resourceVersion do not say it: a
// server that was restored from a backup gives its versions out again. Two objects without a resourceVersion, which a
// transform may have cleared, may be anything.
func (c *consumer[T]) unchanged(a, b T) bool {
	rv := a.GetResourceVersion()
	return rv != "" && rv == b.GetResourceVersion() && a.GetUID() == b.GetUID() && c.equal(a, b)
}

// equal compares two objects as the API server does: a quantity by its value, a nil map as an empty one. Types that have
// fields which are not exported, and so are not the API's, are compared as reflect does it.
func (c *consumer[T]) equal(a, b any) (same bool) {
	if p := reflect.ValueOf(a); p.Kind() == reflect.Pointer && p.UnsafePointer() == reflect.ValueOf(b).UnsafePointer() {
		return true // a list brings what has not changed as it was
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

// attend does what the bell calls for: it lets handlers go and come, and does the resyncs that are due.
func (c *consumer[T]) attend(ctx context.Context) {
	c.handlers = slices.DeleteFunc(c.handlers, func(s *subscriber[T]) bool { return isClosed(s.quit) })
	c.mu.Lock()
	joining := c.joining
	c.joining = nil
	c.mu.Unlock()
	for _, s := range joining {
		c.admit(ctx, s)
	}
	c.remind(time.Now())
}

// admit lets a handler in, with the store as it is now.
func (c *consumer[T]) admit(ctx context.Context, s *subscriber[T]) {
	if !s.begin() {
		return // removed before it began
	}
	s.resync = newResync(s.handler.Resync, time.Now())
	s.replay(c.store.Snapshot())
	if c.synced {
		s.markSynced()
	}
	c.handlers = append(c.handlers, s)
	c.goroutines.Go(func() { s.run(ctx) })
}

// markSynced tells the handlers that the store holds the first list.
func (c *consumer[T]) markSynced() {
	if c.synced || !c.queue.HasSynced() {
		return
	}
	c.synced = true
	for _, s := range c.handlers {
		s.markSynced()
	}
}

// remind does the resyncs that are due, and has the bell rung for the next.
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
		c.timer = time.AfterFunc(next.Sub(now), c.bell.ring)
	default:
		c.timer.Reset(next.Sub(now))
	}
}

// reportLater tells the program of a problem with an object, or ends Run with it. It does not wait for the program, which
// may wait for the consumer.
func (c *consumer[T]) reportLater(key string, err error) {
	if c.problem == nil {
		c.report(err)
		return
	}
	if c.reports.add(key, err) {
		c.goroutines.Go(func() { c.reports.tell(c.problem) })
	}
}

// stop ends every handler and waits for it, and for the reflector. The context of Run has ended, so that no callback
// begins any more.
func (c *consumer[T]) stop(reflecting *sync.WaitGroup) {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Lock()
	c.phase = stopped
	joining := c.joining
	c.joining = nil
	c.mu.Unlock()
	for _, s := range slices.Concat(c.handlers, joining) {
		s.end()
	}
	c.reports.end()
	reflecting.Wait() // it has a place to write to until it has ended
	c.queue.Close()
	close(c.ended) // a callback may be waiting for it
	c.goroutines.Wait()
}

// bell calls the consumer away from the queue, where it waits in Pop, to look at something else.
type bell struct {
	mu     sync.Mutex
	rung   bool // and not heard yet
	cancel context.CancelFunc
}

// ring ends the context that hear returned last. It never blocks, and may be called from anywhere.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rung = true
	if b.cancel != nil {
		b.cancel()
	}
}

// hear reports whether the bell was rung since the last time, and if it was, returns a new context to wait with.
func (b *bell) hear(parent, current context.Context) (context.Context, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.rung {
		return current, false
	}
	if b.cancel != nil {
		b.cancel()
	}
	b.rung = false
	current, b.cancel = context.WithCancel(parent)
	return current, true
}
