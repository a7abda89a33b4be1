package store

import (
	"fmt"
	"maps"
	"slices"
)

// AddIndexer adds an index to the store, with the objects that the store holds. [Store.ByIndex]
// knows the index once AddIndexer has returned. If the name is taken, or the function is nil, it
// returns an error, and there is no such index.
//
// Readers and writers continue in the meantime, and AddIndexer ends however busy they are: it calls
// the function once for each object that the store holds now, and each writer calls the function
// for the object that it writes. At the end, AddIndexer files what was written since it began, one
// object for each key. Readers of lists and indexes wait for that, a few microseconds for each key.
func (s *Store[T]) AddIndexer(name string, fn func(T) []string) error {
	if fn == nil {
		return fmt.Errorf("store: add index %q: %w", name, errNoFunction)
	}
	x := indexer[T]{name: name, fn: fn, building: &building{changed: map[string][]string{}}}
	objects, err := s.beginBuild(x)
	if err != nil {
		return err
	}
	o := new(owner)
	s.endBuild(x, o, buildIndex(o, &x, objects.all()))
	return nil
}

// building is what was written since AddIndexer has taken the objects that it files. The store's mu
// guards the fields.
type building struct {
	replaced bool                // Replace was called: view.indexes has the index of its objects
	changed  map[string][]string // the values of each object that was written since then; of a deleted one, nil
}

// beginBuild takes the name, and has writers note the values of what they write. It returns the
// objects that the store holds.
func (s *Store[T]) beginBuild(x indexer[T]) (tree[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, taken := s.view.indexer(x.name)
	if taken {
		return tree[T]{}, fmt.Errorf("store: add index %q: the name is taken", x.name)
	}
	s.view.indexes = slices.Insert(s.view.indexes, at, index[T]{})
	s.setIndexers(slices.Insert(slices.Clone(s.view.indexers), at, x))
	s.shared.Store(true)
	return s.view.items, nil
}

// endBuild files what was written since beginBuild, and lets readers see the index.
func (s *Store[T]) endBuild(x indexer[T], o *owner, built index[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, _ := s.view.indexer(x.name)
	b := x.building
	if b.replaced {
		built = s.view.indexes[at]
	}
	for _, key := range slices.Sorted(maps.Keys(b.changed)) {
		if c := s.byKey.find(hashString(s.seed, key), key); c != nil {
			built.put(o, c, b.changed[key], true)
		} else {
			built.drop(o, key)
		}
	}
	s.view.indexes[at] = built
	x.building = nil
	indexers := slices.Clone(s.view.indexers)
	indexers[at] = x
	s.setIndexers(indexers)
}

// setIndexers makes these the index functions that writers call. It needs mu. Snapshots have the
// earlier slice.
func (s *Store[T]) setIndexers(indexers []indexer[T]) {
	s.view.indexers = indexers
	s.indexers.Store(&indexers)
}
