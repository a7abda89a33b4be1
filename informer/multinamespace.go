package informer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
)

// MultiNamespace keeps one store in step with a resource in several namespaces, and calls handlers.
// Namespaces may come and go while it runs. It is for a program that may read some namespaces and
// not all. All methods may be called from any goroutine.
//
// Each namespace has a reflector and a queue of its own. One consumer takes entries from all
// queues, and it owns the one store. So handlers, observers, indexes and snapshots work as in an
// [Informer]: a handler is told of the objects of all namespaces, also of those that are added
// later, one callback at a time. If the requests for one namespace fail or are refused, that
// namespace is late, and the others are live. Options.Reflector.Fatal may still end Run.
//
// An OnAdd or a [Change] is initial if its object was in the first list of its namespace, also if
// that namespace was added later. Handlers sync once, when the store first has the first list of
// every namespace. [Registration.Synced] does not wait for namespaces that are added after that;
// [MultiNamespace.WaitForSync] does.
type MultiNamespace[T object.Object] struct {
	*cache[T] // its mu guards feeds, removed, coming and late, too
	open      func(namespace string) (source.ListWatcher[T], error)
	opts      Options[T]
	ready     chan *feed[T]  // feeds that have an entry for the consumer
	ending    chan *feed[T]  // feeds that have ended, and whose objects the consumer has to remove
	toBegin   wakeup         // of the goroutine that begins feeds
	feeding   sync.WaitGroup // the goroutines of begin

	feeds   map[string]*feed[T] // by namespace: those that were added, and not removed
	removed map[string]*feed[T] // by namespace: the latest of those that were removed, until all handlers were told
	coming  []*feed[T]          // those that have not begun
	late    int                 // how many of feeds have not synced
}

var (
	errNoNamespace   = errors.New("the name of the namespace is empty: use an Informer for all namespaces")
	errNoListWatcher = errors.New("open returned no ListWatcher")
	errNoCheckpoint  = errors.New("a MultiNamespace cannot begin with a saved copy; leave Options.Checkpoint empty")
	errNoMetadata    = errors.New("Options.Reflector.Verify needs a ListWatcher with a method Metadata, such as a *listwatch.Client")
)

// NewMultiNamespace returns a MultiNamespace that has no namespaces and has not started.
// [MultiNamespace.Add] calls open, which returns a ListWatcher for the resource in that one
// namespace. The MultiNamespace refuses objects of another namespace.
//
//	cache := informer.NewMultiNamespace(func(namespace string) (source.ListWatcher[*Pod], error) {
//		return listwatch.New(client, pods, listwatch.Options[*Pod]{Namespace: namespace})
//	}, informer.Options[*Pod]{})
//
// The options hold for each namespace. So the functions in Options.Reflector, such as Rand and
// those of Trace, are called for several namespaces at the same time. Verify.Metadata is not used,
// because each namespace has metadata of its own. If Verify.Interval is positive, open must return
// a ListWatcher with a method Metadata, such as a *listwatch.Client. TypeFits is not used either: T
// fits as long as the store has an object of any namespace.
func NewMultiNamespace[T object.Object](open func(namespace string) (source.ListWatcher[T], error), opts Options[T]) *MultiNamespace[T] {
	c := newCache(&opts)
	return &MultiNamespace[T]{
		cache:   c,
		open:    open,
		opts:    opts,
		ready:   make(chan *feed[T]),
		ending:  make(chan *feed[T]),
		toBegin: newWakeup(),
		feeds:   map[string]*feed[T]{},
		removed: map[string]*feed[T]{},
	}
}

// Add adds a namespace, and does not wait for its first list: [MultiNamespace.WaitForSync] does.
// Add calls open on the goroutine of the caller, and returns its error. If the namespace is there
// already, Add does nothing. It may be called before Run. It may also be called after the namespace
// was removed: then the namespace is listed again, and handlers are told of its objects after the
// deletions. If two goroutines add a namespace at the same time, open may be called twice, and one
// of its results is used.
//
// If Run has ended or is about to end, Add returns an error that satisfies errors.Is with
// [ErrStopped].
func (m *MultiNamespace[T]) Add(namespace string) error {
	m.mu.Lock()
	added, err := m.has(namespace)
	m.mu.Unlock()
	if added || err != nil {
		return err
	}
	if m.opts.Checkpoint != nil {
		return fmt.Errorf("informer: add namespace %q: %w", namespace, errNoCheckpoint)
	}
	lw, err := m.open(namespace)
	if err == nil && lw == nil {
		err = errNoListWatcher
	}
	var f *feed[T]
	if err == nil {
		f, err = newFeed(m, namespace, lw)
	}
	if err != nil {
		return fmt.Errorf("informer: add namespace %q: %w", namespace, err)
	}
	return m.add(f)
}

// has reports whether a namespace was added. It returns an error if the namespace cannot be added.
// It needs mu.
func (m *MultiNamespace[T]) has(namespace string) (bool, error) {
	switch {
	case namespace == "":
		return false, fmt.Errorf("informer: add namespace: %w", errNoNamespace)
	case m.stopped:
		return false, fmt.Errorf("informer: add namespace %q: %w", namespace, ErrStopped)
	}
	return m.feeds[namespace] != nil, nil
}

func (m *MultiNamespace[T]) add(f *feed[T]) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if added, err := m.has(f.namespace); added || err != nil {
		return err
	}
	f.before = m.removed[f.namespace]
	m.feeds[f.namespace] = f
	m.coming = append(m.coming, f)
	m.late++
	m.toBegin.signal()
	return nil
}

// Remove removes a namespace: its requests end, its objects leave the store, and every handler and
// observer is told of their deletion. inferred is true, because nobody has seen a deletion, and the
// objects may still exist. No handler is told of an object that it does not know. When Remove
// returns nil, the last of these callbacks has returned, also in handlers that were added
// meanwhile.
//
// If the namespace is not there, Remove returns nil at once. If another call is removing it, Remove
// waits for the end of that removal. If somebody adds the namespace again meanwhile, Remove returns
// when the old objects are gone.
//
// If ctx ends first, Remove returns ctx.Err(), and the removal continues. If Run ends first, the
// error satisfies errors.Is with [ErrStopped], and the store and the handlers may still have
// objects of the namespace.
//
// A callback of this MultiNamespace must not call Remove, because Remove waits for callbacks. It
// may call Remove with a context that has ended: the removal then begins, and Remove does not wait.
func (m *MultiNamespace[T]) Remove(ctx context.Context, namespace string) error {
	f := m.takeOut(namespace)
	if f == nil {
		return nil
	}
	err := f.awaitRemoval(ctx, m.over)
	if errors.Is(err, ErrStopped) {
		return fmt.Errorf("informer: remove namespace %q: %w", namespace, err)
	}
	return err
}

// takeOut takes the feed of a namespace out of feeds. Remove has to wait for the removal of the
// feed that takeOut returns. If takeOut returns nil, Remove has nothing to wait for.
func (m *MultiNamespace[T]) takeOut(namespace string) *feed[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.feeds[namespace]
	if f == nil {
		return m.removed[namespace]
	}
	delete(m.feeds, namespace)
	if !isClosed(f.synced) {
		m.late--
		m.wake.signal() // the others may have synced
	}
	if m.endFeeding == nil && !m.stopped {
		m.coming = slices.DeleteFunc(m.coming, func(other *feed[T]) bool { return other == f })
		f.queue.Close()
		close(f.gone) // nobody was told of it
		return nil
	}
	m.removed[namespace] = f
	f.quit = true
	if f.end != nil {
		f.end()
	}
	return f
}

// Namespaces returns the namespaces that were added and not removed, sorted.
func (m *MultiNamespace[T]) Namespaces() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.feeds))
}

// current returns the feeds of the present namespaces, sorted by namespace.
func (m *MultiNamespace[T]) current() []*feed[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	feeds := make([]*feed[T], 0, len(m.feeds))
	for _, namespace := range slices.Sorted(maps.Keys(m.feeds)) {
		feeds = append(feeds, m.feeds[namespace])
	}
	return feeds
}

// Store returns the cache of all namespaces. Until [MultiNamespace.WaitForSync] returns nil, it is
// incomplete. While a namespace is added or removed, a reader may see some of its objects and not
// all.
//
// ResourceVersion is empty, and so is the ResourceVersion of a Snapshot, because each namespace has
// a version of its own: see [MultiNamespace.Status].
func (m *MultiNamespace[T]) Store() Reader[T] { return m.store }

// Run lists and watches the resource in every namespace and calls handlers until ctx ends, and
// returns ctx.Err(). It ends and drops pending changes as [Informer.Run] does. If
// Options.Reflector.Fatal ends it, the error names the namespace.
func (m *MultiNamespace[T]) Run(ctx context.Context) error { return m.runFrom(ctx, m) }

// Stop ends Run after handlers were told what is pending. See [Informer.Stop].
func (m *MultiNamespace[T]) Stop(ctx context.Context) error { return m.stopFrom(ctx, m) }

// Status says how fresh the copy of each namespace is, and what keeps it from being fresher. It is
// sorted by namespace, and namespaces that were removed are not in it. See [Informer.Status].
func (m *MultiNamespace[T]) Status() []MemberStatus {
	var all []MemberStatus
	for _, f := range m.current() {
		all = append(all, MemberStatus{Namespace: f.namespace, Status: f.reflector.Status()})
	}
	return all
}

// HasSynced reports whether the store has the first list of every namespace that there is now.
// Without namespaces it is true.
func (m *MultiNamespace[T]) HasSynced() bool { return m.hasSynced() }

// WaitForSync waits until the store has the first list of every namespace that the MultiNamespace
// has at the time of the call. It does not wait for a namespace that is removed meanwhile. If ctx
// ends first, it returns a [*LateError], which names the namespaces that are late, and says what is
// in the way of each (for example, that the server refuses the list) and since when. If Run ends or
// has ended before, the error satisfies errors.Is with [ErrStopped]. A program may call it before
// Run. It must not be called where [Informer.WaitForSync] must not be called.
func (m *MultiNamespace[T]) WaitForSync(ctx context.Context) error {
	feeds := m.current()
	for i, f := range feeds {
		if isClosed(f.synced) {
			continue // even if ctx has ended
		}
		select {
		case <-f.synced:
		case <-f.gone:
		case <-m.ended:
			if !isClosed(f.synced) {
				return fmt.Errorf("informer: wait for the first list of namespace %q: %w", f.namespace, ErrStopped)
			}
		case <-ctx.Done():
			return m.syncError(ctx.Err(), feeds[i:], len(feeds))
		}
	}
	return nil
}

var errNotThere = errors.New("the namespace is not there, or was removed")

// WaitForVersion waits until the store has everything of a namespace up to a resourceVersion, as
// [Informer.WaitForVersion] does. If the namespace is not there or is removed meanwhile, it returns
// an error.
func (m *MultiNamespace[T]) WaitForVersion(ctx context.Context, namespace, resourceVersion string) error {
	err := errNotThere
	if f := m.feedOf(namespace); f != nil {
		if err = f.queue.WaitForVersion(ctx, resourceVersion); !errors.Is(err, deltafifo.ErrClosed) {
			return err
		}
		if err = ErrStopped; m.feedOf(namespace) != f {
			err = errNotThere
		}
	}
	return fmt.Errorf("informer: wait for resourceVersion %s in namespace %q: %w", resourceVersion, namespace, err)
}

// feedOf returns the feed of a namespace, or nil if the namespace is not there.
func (m *MultiNamespace[T]) feedOf(namespace string) *feed[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.feeds[namespace]
}

func (m *MultiNamespace[T]) syncError(err error, feeds []*feed[T], all int) error {
	e := &LateError{Of: all, what: "namespaces"}
	now := time.Now()
	for _, f := range feeds {
		if isClosed(f.synced) || isClosed(f.gone) {
			continue
		}
		e.Late = append(e.Late, LateMember{f.namespace, &SyncError{
			Status: f.reflector.Status(), Objects: len(m.store.In(f.namespace)), Waiting: f.queue.Len(), At: now, Err: err,
		}})
	}
	if len(e.Late) == 0 {
		return nil // the last list has come just now
	}
	return e
}
