package informer

import (
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
	f(&s.pending)
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
func (s *subscriber[T]) markSynced() { s.tell((*pending[T]).mark) }

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

// run calls the callbacks until the registration ends.
func (s *subscriber[T]) run() {
	defer close(s.done)
	defer s.remove() // for a callback that ended the goroutine
	for {
		c := s.next()
		switch {
		case c == nil:
			return
		case c.mark:
			close(s.synced)
		default:
			s.deliver(c)
		}
	}
}

// next waits for a change; nil says that the registration has ended.
func (s *subscriber[T]) next() *change[T] {
	for !isClosed(s.quit) {
		if c := s.take(); c != nil {
			return c
		}
		select {
		case <-s.wake:
		case <-s.quit:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending, s.current = pending[T]{}, "" // let go of it
	return nil
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
func (s *subscriber[T]) deliver(c *change[T]) {
	h := &s.handler
	if c.gone && h.OnDelete != nil {
		s.call("OnDelete", c.key, func() { h.OnDelete(c.final, c.unknown) })
	}
	if !c.there || isClosed(s.quit) {
		return // or OnDelete removed the handler, or somebody waits for its end
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
	userCode(func() {
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
	})
}
