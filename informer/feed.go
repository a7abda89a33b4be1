package informer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/internal/goexit"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
)

// feed is one namespace of a MultiNamespace, from its Add to its removal: a reflector and a queue.
// If the namespace is added again, it gets another feed, which begins when the objects of the
// earlier feed are gone. So no two feeds ever write to one namespace.
type feed[T object.Object] struct {
	namespace string
	queue     *deltafifo.Queue[T]
	reflector *reflector.Reflector[T]
	part      *part[T]
	before    *feed[T]      // the earlier feed of this namespace; nil if there is none or it has gone
	synced    chan struct{} // closed when the store has the first list
	gone      chan struct{} // closed when the store has no objects of this feed, and their deletions are pending
	told      chan struct{} // closed when every handler was told of these deletions, or has ended
	untold    error         // ErrStopped if Run ended before that; written before told is closed

	// The mu of the cache guards these fields, and the closing of synced.
	quit bool               // Remove was called
	end  context.CancelFunc // ends the feed; nil if it has not begun
}

func newFeed[T object.Object](m *MultiNamespace[T], namespace string, lw source.ListWatcher[T]) (*feed[T], error) {
	f := &feed[T]{
		namespace: namespace,
		synced:    make(chan struct{}),
		gone:      make(chan struct{}),
		told:      make(chan struct{}),
	}
	f.queue = deltafifo.New(deltafifo.Options[T]{Known: namespaced[T]{m.store, namespace}, Coalesce: true})
	opts := m.opts.Reflector
	opts.Resync = -1               // each handler has a resync of its own
	opts.Start = reflector.Point{} // the store is empty
	opts.TypeFits = func() bool { return m.store.Len() > 0 }
	opts.Trace = m.opts.trace()
	opts.Verify.Metadata = nil
	if opts.Verify.Interval > 0 {
		resource, ok := lw.(interface {
			Metadata() (source.ListWatcher[*metav1.PartialObjectMetadata], error)
		})
		if !ok {
			return nil, errNoMetadata
		}
		metadata, err := resource.Metadata()
		if err != nil {
			return nil, err
		}
		opts.Verify.Metadata = metadata
	}
	f.reflector = reflector.New(lw, scopedSink[T]{reflector.InQueue(f.queue), namespace}, opts)
	f.part = &part[T]{m.cache, lw, f.queue, f.reflector, f.gone}
	return f, nil
}

// begin starts feeds until ctx ends: each one as soon as it was added.
func (m *MultiNamespace[T]) begin(ctx context.Context, fail context.CancelCauseFunc) {
	m.feeding.Go(func() {
		for {
			for _, begin := range m.takeComing(ctx, fail) {
				m.feeding.Go(begin)
			}
			select {
			case <-m.toBegin:
			case <-ctx.Done():
				return
			}
		}
	})
}

// takeComing returns functions that run the feeds which have been added.
func (m *MultiNamespace[T]) takeComing(ctx context.Context, fail context.CancelCauseFunc) []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []func()
	for _, f := range m.coming {
		live, end := context.WithCancel(ctx)
		f.end = end
		if f.quit {
			end()
		}
		all = append(all, func() { m.runFeed(ctx, live, f, fail) })
	}
	m.coming = nil
	return all
}

// runFeed lists and watches a namespace, and tells the consumer of entries, until the context live
// ends. It ends when the namespace is removed or when ctx ends.
func (m *MultiNamespace[T]) runFeed(ctx, live context.Context, f *feed[T], fail context.CancelCauseFunc) {
	defer f.queue.Close()
	if f.before != nil {
		select {
		case <-f.before.gone:
			f.before = nil
		case <-ctx.Done():
			return
		}
	}
	var reflecting sync.WaitGroup
	reflecting.Go(func() {
		goexit.Run(func() error { return f.reflector.Run(live) }, func(err error) {
			if live.Err() == nil {
				fail(fmt.Errorf("informer: namespace %q: %w", f.namespace, err))
			}
		})
	})
	reflecting.Go(func() {
		select {
		case <-f.queue.Synced():
			m.markFeedSynced(f)
		case <-live.Done():
		}
	})
	for live.Err() == nil {
		select {
		case <-f.queue.Ready():
			select {
			case m.ready <- f:
			case <-live.Done():
			}
		case <-live.Done():
		}
	}
	reflecting.Wait()
	select {
	case m.ending <- f:
	case <-ctx.Done():
	}
}

func (m *MultiNamespace[T]) markFeedSynced(f *feed[T]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isClosed(f.synced) {
		return
	}
	close(f.synced)
	if m.feeds[f.namespace] == f {
		m.late--
	}
	m.wake.signal()
}

func (m *MultiNamespace[T]) take(ctx context.Context, c *consumer[T]) (woken bool) {
	select {
	case <-m.wake:
		return true
	case f := <-m.ready:
		if f.queue.HasSynced() {
			m.markFeedSynced(f) // before the consumer applies what came after the first list
		}
		_, _ = f.queue.TryPop(c.process) // process never fails
	case f := <-m.ending:
		m.retire(f, c)
	case <-ctx.Done():
	}
	return false
}

// retire removes the objects of a feed that has ended.
func (m *MultiNamespace[T]) retire(f *feed[T], c *consumer[T]) {
	for _, obj := range c.store.In(f.namespace) {
		c.remove(object.Key(obj), obj, true)
	}
	close(f.gone)
	told := make([]chan struct{}, len(c.handlers))
	for i, s := range c.handlers {
		told[i] = make(chan struct{})
		s.tell(func(p *pending[T]) { p.mark(func() { close(told[i]) }) })
	}
	handlers := slices.Clone(c.handlers)
	c.goroutines.Go(func() {
		for i, s := range handlers {
			select {
			case <-told[i]:
			case <-s.done:
				if !isClosed(told[i]) && s.wasStopped() {
					f.untold = ErrStopped
				}
			}
		}
		m.forgetFeed(f)
	})
}

// forgetFeed ends the removal of a namespace.
func (m *MultiNamespace[T]) forgetFeed(f *feed[T]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.removed[f.namespace] == f && f.untold == nil {
		delete(m.removed, f.namespace)
	}
	close(f.told)
}

// awaitRemoval waits until every handler was told of the deletions.
func (f *feed[T]) awaitRemoval(ctx context.Context, over <-chan struct{}) error {
	select {
	case <-f.told:
		return f.untold
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
		if !isClosed(f.told) {
			return ErrStopped
		}
		return f.untold
	}
}

func (m *MultiNamespace[T]) hasSynced() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.late == 0
}

func (m *MultiNamespace[T]) end(*consumer[T]) {
	m.feeding.Wait()
	for _, f := range append(m.current(), m.unbegun()...) {
		f.queue.Close() // a feed that has not begun does not close it
	}
}

// unbegun returns the feeds that have not begun, removed or not.
func (m *MultiNamespace[T]) unbegun() []*feed[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.coming)
}

// namespaced is the part of the store that the queue of a feed knows: the objects of one namespace.
type namespaced[T object.Object] struct {
	store     *store.Store[T]
	namespace string
}

func (n namespaced[T]) Get(key string) (T, bool) {
	if namespace, _, _ := strings.Cut(key, "/"); namespace != n.namespace {
		return *new(T), false
	}
	return n.store.Get(key)
}

func (n namespaced[T]) Keys() []string {
	objects := n.store.In(n.namespace)
	keys := make([]string, len(objects))
	for i, obj := range objects {
		keys[i] = object.Key(obj)
	}
	return keys
}

// scopedSink is a queue that refuses objects of another namespace, because the feed of that
// namespace may bring them, too.
type scopedSink[T object.Object] struct {
	reflector.Memory[T]
	namespace string
}

func (s scopedSink[T]) Apply(c reflector.Change[T]) error {
	if c.Op == protocol.Add || c.Op == protocol.Update {
		if err := s.check(c.Object); err != nil {
			return err
		}
	}
	return s.Memory.Apply(c)
}

func (s scopedSink[T]) BeginList(reuse bool) reflector.Replacement[T] {
	return scopedList[T]{s.Memory.BeginList(reuse), s}
}

// check accepts an object without a key, because the queue refuses it and says why.
func (s scopedSink[T]) check(obj T) error {
	key, err := object.KeyOf(obj)
	if err == nil && !strings.HasPrefix(key, s.namespace+"/") {
		return fmt.Errorf("informer: object %q is not in namespace %q: open must return a ListWatcher of that namespace alone", key, s.namespace)
	}
	return nil
}

// scopedList is a list on its way into such a queue.
type scopedList[T object.Object] struct {
	reflector.Replacement[T]
	sink scopedSink[T]
}

func (l scopedList[T]) Part(objects []T, metas []object.Meta) error {
	for _, obj := range objects {
		if err := l.sink.check(obj); err != nil {
			return err
		}
	}
	return l.Replacement.Part(objects, metas)
}
