package store

import (
	"fmt"
	"iter"
	"sort"
	"strings"

	"github.com/relist-go/relist/object"
)

// view is one state of a store: what a reader sees. Its methods take no lock.
type view[T object.Object] struct {
	items    tree[T]
	indexers []indexer[T]
	indexes  []index[T] // by position in indexers
	rv       string
}

// byIndex returns the objects that the named index has under value, in key order.
func (v *view[T]) byIndex(name, value string) ([]T, error) {
	x, err := v.index(name)
	if err != nil {
		return nil, err
	}
	under, _ := x.sets.get(value)
	return under.objects.values(), nil
}

// in returns the objects of a namespace, in key order; all objects if namespace is empty.
func (v *view[T]) in(namespace string) []T {
	if namespace == "" {
		return v.items.values()
	}
	var out []T
	for _, obj := range v.namespaced(namespace) {
		out = append(out, obj)
	}
	return out
}

// namespaced is an iterator over the objects of a namespace. Their keys stand together, because
// each begins with the namespace and a slash, and the character after the slash is a zero.
func (v *view[T]) namespaced(namespace string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) { v.items.between(namespace+"/", namespace+"0", yield) }
}

// indexKeys returns the keys of the objects that the named index has under value, sorted.
func (v *view[T]) indexKeys(name, value string) ([]string, error) {
	x, err := v.index(name)
	if err != nil {
		return nil, err
	}
	under, _ := x.sets.get(value)
	return under.objects.keys(), nil
}

// indexValues returns the values under which the named index has objects, sorted.
func (v *view[T]) indexValues(name string) ([]string, error) {
	x, err := v.index(name)
	if err != nil {
		return nil, err
	}
	return x.sets.keys(), nil
}

// indexer returns the position of the named index, complete or not, or where it would be.
func (v *view[T]) indexer(name string) (int, bool) {
	i := sort.Search(len(v.indexers), func(i int) bool { return v.indexers[i].name >= name })
	return i, i < len(v.indexers) && v.indexers[i].name == name
}

// index returns the named index, if it is complete.
func (v *view[T]) index(name string) (*index[T], error) {
	if i, found := v.indexer(name); found && v.indexers[i].building == nil {
		return &v.indexes[i], nil
	}
	var names []string
	for i := range v.indexers {
		if v.indexers[i].building == nil {
			names = append(names, v.indexers[i].name)
		}
	}
	return nil, fmt.Errorf("%w %q: the store has [%s]", ErrUnknownIndex, name, strings.Join(names, " "))
}

// Snapshot is the state of a [Store] at one moment. It never changes, and reading it takes no lock.
//
// It keeps what it shows alive: hold it for as long as a piece of work takes, not forever.
type Snapshot[T object.Object] struct{ view view[T] }

// Get returns the object of key.
func (s *Snapshot[T]) Get(key string) (T, bool) { return s.view.items.get(key) }

// List returns all objects in key order.
func (s *Snapshot[T]) List() []T { return s.view.items.values() }

// All returns an iterator over all keys and their objects, in key order.
func (s *Snapshot[T]) All() iter.Seq2[string, T] { return s.view.items.walk }

// Between returns an iterator over the keys from <= key < to and their objects, in key order. It
// looks at no others.
func (s *Snapshot[T]) Between(from, to string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) { s.view.items.between(from, to, yield) }
}

// Keys returns all keys, sorted.
func (s *Snapshot[T]) Keys() []string { return s.view.items.keys() }

// Len returns the number of objects.
func (s *Snapshot[T]) Len() int { return s.view.items.len }

// ByIndex returns the objects that an index has under value, in key order; see [Store.ByIndex].
func (s *Snapshot[T]) ByIndex(name, value string) ([]T, error) { return s.view.byIndex(name, value) }

// In returns the objects of a namespace; see [Store.In].
func (s *Snapshot[T]) In(namespace string) []T { return s.view.in(namespace) }

// IndexKeys returns the keys of the objects that an index has under value; see [Store.IndexKeys].
func (s *Snapshot[T]) IndexKeys(name, value string) ([]string, error) {
	return s.view.indexKeys(name, value)
}

// IndexValues returns the values of an index; see [Store.IndexValues].
func (s *Snapshot[T]) IndexValues(name string) ([]string, error) { return s.view.indexValues(name) }

// ResourceVersion returns what [Store.ResourceVersion] returned at that moment.
func (s *Snapshot[T]) ResourceVersion() string { return s.view.rv }
