package informer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

// subscriber is a handler and its pending changes. The consumer adds changes, and the subscriber's
// goroutine takes them.
type subscriber[T object.Object] struct {
	*Registration
	handler Handler[T]
	resync  *resync // owned by the consumer; nil if there is none

	passing map[string]bool // the keys that have passed the filter; owned by run

	wake wakeup // of the goroutine

	mu      sync.Mutex
	pending pending[T]
	current string // the key of the callback that is running; empty if none is
	over    bool   // no more changes are added: the handler has ended, or its last changes are pending
}

func newSubscriber[T object.Object](h Handler[T], forget func()) *subscriber[T] {
	s := &subscriber[T]{Registration: newRegistration(), handler: h, wake: newWakeup()}
	s.waiting = s.len
	s.forget = forget
	return s
}

func (s *subscriber[T]) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending.len()
}

// tell changes what is pending, under the lock. f must not call code of the program.
func (s *subscriber[T]) tell(f func(p *pending[T])) {
	s.mu.Lock()
	if !s.over {
		f(&s.pending)
	}
	s.mu.Unlock()
	s.wake.signal()
}

// awaitSynced makes later changes wait until markSynced is called: only initial objects are told
// before.
func (s *subscriber[T]) awaitSynced() { s.tell((*pending[T]).hold) }

// markSynced records that no more initial objects come. There are two marks, because OnSynced may
// end the handler, and then the second mark is dropped.
func (s *subscriber[T]) markSynced() {
	s.tell(func(p *pending[T]) {
		p.lift(func() {
			if s.handler.OnSynced != nil {
				s.handler.OnSynced()
			}
		}, func() { close(s.synced) })
	})
}

// replay gives a new handler all objects of the store.
func (s *subscriber[T]) replay(all *store.Snapshot[T]) {
	s.tell(func(p *pending[T]) {
		for key, obj := range all.All() {
			p.add(key, obj, true)
		}
	})
}

// finish lets the handler be told what is pending now, and nothing after that. Then the handler
// ends.
func (s *subscriber[T]) finish() {
	s.tell(func(p *pending[T]) {
		p.lift()
		p.mark(s.stop)
		s.over = true
	})
}

// remind offers again the objects that are due, except an object that has a pending change or a
// running callback.
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

// run calls the callbacks until the registration or ctx ends. If a callback ends the goroutine, run
// calls fail, which ends ctx.
func (s *subscriber[T]) run(ctx context.Context, fail context.CancelCauseFunc) {
	goexit.Do(func() {
		for c := s.next(ctx); c != nil; c = s.next(ctx) {
			if c.mark != nil {
				c.mark()
			} else {
				s.deliver(ctx, c)
			}
		}
	}, func(exited bool) {
		if exited {
			fail(fmt.Errorf("informer: handler %q: %w", s.handler.Name, goexit.Err))
		}
		if ctx.Err() != nil {
			s.stop()
		}
		s.drop()
		close(s.done)
	})
}

// hasQuit reports whether the registration has ended. A callback may still run.
func (s *subscriber[T]) hasQuit() bool { return isClosed(s.quit) }

// ends reports whether no further callback may begin.
func (s *subscriber[T]) ends(ctx context.Context) bool { return s.hasQuit() || ctx.Err() != nil }

// next waits for a change. It returns nil if the registration or ctx has ended.
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

// drop removes the pending changes. It also sets over, because the consumer may not have noticed
// yet that the handler has ended: from then on tell adds no change.
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

func (s *subscriber[T]) deliver(ctx context.Context, c *change[T]) {
	h := &s.handler
	if h.Filter != nil && (!s.filter(c) || s.ends(ctx)) {
		return
	}
	if c.gone && h.OnDelete != nil {
		h.OnDelete(c.final, c.inferred)
	}
	if !c.there || s.ends(ctx) {
		return // OnDelete was the only callback, or the last one
	}
	switch known := c.told && !c.gone; {
	case known && h.OnUpdate != nil:
		h.OnUpdate(c.old, c.obj)
	case !known && h.OnAdd != nil:
		h.OnAdd(c.obj, c.initial)
	}
}

// filter rewrites a change for the handler, as if objects that do not pass the filter did not
// exist. It returns false if no callback is needed.
func (s *subscriber[T]) filter(c *change[T]) bool {
	was := s.passing[c.key]
	is := c.there && s.handler.Filter(c.obj)
	switch {
	case is && s.passing == nil:
		s.passing = map[string]bool{c.key: true}
	case is:
		s.passing[c.key] = true
	default:
		delete(s.passing, c.key)
	}
	if was && !c.gone && !is {
		c.gone, c.final, c.inferred = true, c.old, false
	}
	c.told, c.gone, c.there = was, c.gone && was, is
	return c.gone || c.there
}
