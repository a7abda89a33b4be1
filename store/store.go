package store

import (
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/relist-go/relist/object"
)

// Options configure a [Store]. The zero value is ready.
type Options[T object.Object] struct {
	// Indexers are the indexes that the store has from the start. More can be added with
	// [Store.AddIndexer]. If nil, there are none.
	Indexers Indexers[T]

	// VersionFromMarks says that only Replace, [Store.Bookmark] and [Store.SetResourceVersion] move
	// [Store.ResourceVersion]. It is for changes that do not come in the order of the server, such
	// as those from a queue of keys. If false, each object moves the version, too.
	VersionFromMarks bool
}

// Store holds objects by key. All methods may be called from any goroutine. Of two writes of one
// key, the one that ends later wins. If the order of writes matters, write from one goroutine.
//
// It is a sink for a reflector: Add, Update, Delete, Replace and Resync.
type Store[T object.Object] struct {
	bookmarked bool
	seed       maphash.Seed

	// indexers are those of view. A writer calls them before it takes mu, and again if they are
	// others by then. Only a holder of mu stores them.
	indexers atomic.Pointer[[]indexer[T]]

	// byKey finds the cells of view.items. It takes 20 bytes an object, and a quarter of the time:
	// a hash table finds a key in one step, and a tree of 100,000 keys in 17 comparisons of strings
	// all over the memory. Get uses nothing else, and takes no lock. A writer needs mu.
	byKey table[T]

	// Each Get reads the fields above, and each writer changes those below. If they shared a cache
	// line, each write would take it away from the readers, which costs a Get more than everything
	// else.
	_ [64]byte

	// shared is set by a reader that holds mu for reading and keeps the nodes of a view. The next
	// writer then takes a new owner before it changes anything.
	shared atomic.Bool

	mu    sync.RWMutex
	view  view[T]
	owner *owner // of the nodes and cells of view that may be changed in place
}

// New returns an empty store.
func New[T object.Object](opts Options[T]) *Store[T] {
	s := &Store[T]{owner: new(owner), seed: maphash.MakeSeed(), bookmarked: opts.VersionFromMarks}
	var indexers []indexer[T]
	for _, name := range slices.Sorted(maps.Keys(opts.Indexers)) {
		indexers = append(indexers, indexer[T]{name: name, fn: opts.Indexers[name]})
	}
	s.view.indexes = make([]index[T], len(indexers))
	s.setIndexers(indexers)
	return s
}

// Get returns the object of key. It never waits, whatever other goroutines read or write.
func (s *Store[T]) Get(key string) (T, bool) {
	hash := hashString(s.seed, key)
	if c := s.byKey.find(hash, key); c != nil {
		return c.get(), true
	}
	return *new(T), false
}

// List returns all objects in key order.
func (s *Store[T]) List() []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view.items.values()
}

// Keys returns all keys, sorted.
func (s *Store[T]) Keys() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view.items.keys()
}

// Len returns the number of objects.
func (s *Store[T]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view.items.len
}

// ByIndex returns the objects that an index has under value, in key order; there may be none. The
// error for an index that was never added satisfies errors.Is with [ErrUnknownIndex].
func (s *Store[T]) ByIndex(name, value string) ([]T, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view.byIndex(name, value)
}

// In returns the objects of a namespace, in key order; there may be none. It costs what these
// objects cost: objects of other namespaces are not looked at. If namespace is empty, In returns
// all objects, as [Store.List] does.
func (s *Store[T]) In(namespace string) []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view.in(namespace)
}

// IndexKeys returns the keys of the objects that ByIndex returns, and the same errors.
func (s *Store[T]) IndexKeys(name, value string) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view.indexKeys(name, value)
}

// IndexValues returns the values under which an index has objects, sorted. The errors are those of
// ByIndex.
func (s *Store[T]) IndexValues(name string) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view.indexValues(name)
}

// ResourceVersion returns the newest resourceVersion that the store has got, from Replace, from an
// object or from [Store.Bookmark]. It is empty before the first.
func (s *Store[T]) ResourceVersion() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view.rv
}

// All returns an iterator over the keys and objects that the store has when a loop over it begins,
// in key order. Anybody may write to the store meanwhile, also the body of the loop.
func (s *Store[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		items := s.share()
		items.walk(yield)
	}
}

// Snapshot returns the state of the store at this moment. It takes a few words, however large the
// store is. Later writes copy the nodes that they change.
func (s *Store[T]) Snapshot() *Snapshot[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.shared.Store(true)
	v := s.view
	v.indexes = make([]index[T], len(s.view.indexes))
	for i := range v.indexes {
		v.indexes[i].sets = s.view.indexes[i].sets
	}
	return &Snapshot[T]{view: v}
}

// share returns the items as they are, and makes sure that nobody changes them any more.
func (s *Store[T]) share() tree[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.shared.Store(true)
	return s.view.items
}

// Add puts an object into the store. If there is one with the same key, it is replaced. If the
// object has no key, Add returns an error, and nothing has changed.
func (s *Store[T]) Add(obj T) error { return s.put("add", obj) }

// Update is [Store.Add]: an object that a watch calls modified may be new to the store, and the
// reverse.
func (s *Store[T]) Update(obj T) error { return s.put("update", obj) }

// Delete removes the object with the key of obj, if there is one. It is an error only if obj has no
// key.
func (s *Store[T]) Delete(obj T) error {
	var buf [object.KeySize]byte
	key, _, rv, err := identify(buf[:0], obj)
	if err != nil {
		return fmt.Errorf("store: delete: %w", err)
	}
	hash := hashBytes(s.seed, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passed(rv)
	c := s.byKey.findBytes(hash, key)
	if c == nil {
		return nil
	}
	o := s.writable()
	s.view.items.delete(o, c.key)
	s.byKey.remove(hash, c)
	for i := range s.view.indexes {
		if b := s.view.indexers[i].building; b != nil {
			b.changed[c.key] = nil
		} else {
			s.view.indexes[i].drop(o, c.key)
		}
	}
	return nil
}

// Resync does nothing, because a store has no consumer. It is here because a reflector's sink must
// have it.
func (s *Store[T]) Resync() error { return nil }

// Bookmark moves [Store.ResourceVersion] forward to rv, from a server's bookmark or an applied
// list. An empty or older version is ignored.
func (s *Store[T]) Bookmark(rv string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.rv = later(s.view.rv, rv)
}

// SetResourceVersion sets [Store.ResourceVersion] to rv, even if that is older. Versions go back if
// the server's data were restored from a backup and the store holds these.
func (s *Store[T]) SetResourceVersion(rv string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.rv = rv
}

// passed moves the store's version to that of an object, if objects do. It needs mu.
func (s *Store[T]) passed(rv string) {
	if !s.bookmarked {
		s.view.rv = later(s.view.rv, rv)
	}
}

// writable returns the owner under which nodes may be changed now. It needs mu.
func (s *Store[T]) writable() *owner {
	if s.shared.Load() {
		s.shared.Store(false)
		s.owner = new(owner)
	}
	return s.owner
}

// identify appends the key of an object to buf, and returns it with the version, so that no getter
// has to be called under a lock. If the key is the object's name, it returns that string, too, so
// that the store needs no copy of it.
func identify[T object.Object](buf []byte, obj T) (key []byte, name, rv string, err error) {
	name = obj.GetName()
	if name == "" {
		_, err = object.KeyOf(obj)
		return nil, "", "", err
	}
	namespace := obj.GetNamespace()
	key = object.AppendKey(buf, namespace, name)
	if namespace != "" {
		name = ""
	}
	return key, name, obj.GetResourceVersion(), nil
}

var errNoFunction = errors.New("the function is nil")

// later returns next if that may follow current, and current otherwise. A version that means "any"
// follows nothing. Some servers that are not Kubernetes have versions that are not numbers; such a
// version follows only another one of its kind.
func later(current, next string) string {
	switch {
	case object.IsAnyVersion(next), object.Older(next, current):
		return current
	case object.IsComparable(next), !object.IsComparable(current):
		return next
	}
	return current
}
