package informer

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/relist-go/relist/store"
)

// subscriber is a handler with what waits for it. The consumer writes to it, its own goroutine reads.
type subscriber[T store.Object] struct {
	*Registration
	handler Handler[T]
	report  func(error) // tells the program of a panic
	resync  *resync     // owned by the consumer; nil if there is none

	wake chan struct{} // holds a token when the goroutine should look

	mu      sync.Mutex
	pending pending[T]
	current string // the key that callbacks are being called for; empty if none is
	over    bool   // nothing is pending any more, whatever comes
}

func newSubscriber[T store.Object](h Handler[T], report func(error), forget func()) *subscriber[T] {
	s := &subscriber[T]{Registration: newRegistration(), handler: h, report: report, wake: make(chan struct{}, 1)}
	s.waiting = s.len
	s.forget = forget
	return s
}

func (s *subscriber[T]) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending.len()
}

// tell changes what is pending, under the lock. f must not call code of the program's own.
func (s *subscriber[T]) tell(f func(p *pending[T])) {
	s.mu.Lock()
	if !s.over {
		f(&s.pending)
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // it has been called already
	}
}

func (s *subscriber[T]) added(key string, obj T, initial bool) {
	s.tell(func(p *pending[T]) { p.add(key, obj, initial) })
}

func (s *subscriber[T]) updated(key string, old, obj T) {
	s.tell(func(p *pending[T]) { p.update(key, old, obj) })
}

func (s *subscriber[T]) deleted(key string, old, final T, unknown bool) {
	s.tell(func(p *pending[T]) { p.remove(key, old, final, unknown) })
}

// markSynced says that whatever is initial has been told.
func (s *subscriber[T]) markSynced() { s.tell((*pending[T]).markSynced) }

// replay tells a new handler what there is.
func (s *subscriber[T]) replay(all *store.Snapshot[T]) {
	s.tell(func(p *pending[T]) {
		for key, obj := range all.All() {
			p.add(key, obj, true)
		}
	})
}

// remind offers objects once more, except those with something pending.
func (s *subscriber[T]) remind(now time.Time, objects *store.Store[T]) {
	for _, key := range s.resync.due(now, objects.Keys) {
		obj, ok := objects.Get(key)
		if !ok {
			continue // deleted since the period began
		}
		s.tell(func(p *pending[T]) {
			if !p.has(key) && s.current != key {
				p.update(key, obj, obj)
			}
		})
	}
}

// run calls the callbacks until the registration or ctx ends.
func (s *subscriber[T]) run(ctx context.Context) {
	// Deferred, for a callback may end the goroutine.
	defer close(s.done)
	defer s.drop()
	defer s.Cancel()
	for {
		c := s.next(ctx)
		switch {
		case c == nil:
			return
		case c.synced:
			close(s.synced)
		default:
			s.deliver(ctx, c)
		}
	}
}

// ends reports whether no callback may begin any more.
func (s *subscriber[T]) ends(ctx context.Context) bool { return isClosed(s.quit) || ctx.Err() != nil }

// next waits for a change; nil says that the registration or ctx has ended.
func (s *subscriber[T]) next(ctx context.Context) *change[T] {
	for !s.ends(ctx) {
		if c := s.take(); c != nil {
			return c
		}
		select {
		case <-s.wake:
		case <-s.quit:
		case <-ctx.Done():
		}
	}
	return nil
}

// drop lets go of what is pending, and of all that the consumer tells before it has noticed.
func (s *subscriber[T]) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending, s.current, s.over = pending[T]{}, "", true
}

func (s *subscriber[T]) take() *change[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.pending.take()
	if c == nil {
		s.current = ""
	} else {
		s.current = c.key
	}
	return c
}

// deliver says what a change has to say.
func (s *subscriber[T]) deliver(ctx context.Context, c *change[T]) {
	h := &s.handler
	if c.gone && h.OnDelete != nil {
		s.call("OnDelete", c.key, func() { h.OnDelete(c.final, c.unknown) })
	}
	if !c.there || s.ends(ctx) {
		return // or OnDelete was the last callback
	}
	switch known := c.told && !c.gone; {
	case known && h.OnUpdate != nil:
		s.call("OnUpdate", c.key, func() { h.OnUpdate(c.old, c.obj) })
	case !known && h.OnAdd != nil:
		s.call("OnAdd", c.key, func() { h.OnAdd(c.obj, c.initial) })
	}
}

// call calls a callback and reports its panic.
func (s *subscriber[T]) call(callback, key string, f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		if value == nil {
			value = errGoexit
		}
		s.report(&PanicError{Handler: s.handler.Name, Callback: callback, Key: key, Value: value, Stack: debug.Stack()})
	}()
	f()
	returned = true
}
