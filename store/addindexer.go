package store

import (
	"cmp"
	"fmt"
	"slices"
)

// building is an index that AddIndexer fills while others write to the store. The store's mu guards its fields.
type building[T Object] struct {
	name     string
	changed  []string // keys written since AddIndexer last looked
	replaced bool     // everything was
}

// AddIndexer adds an index to the store and files in it what the store holds already. [Store.ByIndex] knows the index
// once AddIndexer has returned. A name that is taken, a nil function, and a function that panics on an object are errors;
// then there is no such index.
//
// Readers and writers go on meanwhile: the index is built from a snapshot, then from what changed, until nothing has.
func (s *Store[T]) AddIndexer(name string, fn func(T) []string) error {
	if fn == nil {
		return fmt.Errorf("store: add index %q: %w", name, errNoFunction)
	}
	b := &building[T]{name: name, replaced: true}
	if err := s.beginBuild(b); err != nil {
		return err
	}
	defer s.endBuild(b)

	x := indexer[T]{name: name, fn: fn}
	o := new(owner)
	var built index[T]
	for {
		items, changed, replaced := s.progress(b, x, &built)
		if replaced {
			var all entries[T]
			items.walk(func(key string, obj T) bool { all.add(key, obj); return true })
			var err error
			if built, err = buildIndex(o, &x, all); err != nil {
				return fmt.Errorf("store: add index: %w", err)
			}
			continue
		}
		if len(changed) == 0 {
			return nil
		}
		for _, key := range changed {
			obj, ok := items.get(key)
			if !ok {
				built.drop(o, key)
				continue
			}
			values, err := x.run(key, obj)
			if err != nil {
				return fmt.Errorf("store: add index: %w", err)
			}
			built.put(o, key, obj, values)
		}
	}
}

// progress takes note of what changed since the last call, with the items to look it up in. When nothing has, it puts the
// finished index in its place.
func (s *Store[T]) progress(b *building[T], x indexer[T], built *index[T]) (tree[T], []string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed, replaced := b.changed, b.replaced
	b.changed, b.replaced = nil, false
	if replaced || len(changed) > 0 {
		s.shared.Store(true)
		return s.view.items, changed, replaced
	}
	at, _ := s.view.indexer(x.name)
	// Copies, because a snapshot may have these slices and because same compares addresses.
	s.view.indexers = slices.Insert(slices.Clone(s.view.indexers), at, x)
	s.view.indexes = slices.Insert(slices.Clone(s.view.indexes), at, *built)
	return tree[T]{}, nil, false
}

// beginBuild claims the name and asks writers to report to b.
func (s *Store[T]) beginBuild(b *building[T]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, taken := s.view.indexer(b.name)
	for _, other := range s.builds {
		taken = taken || other.name == b.name
	}
	if taken {
		return fmt.Errorf("store: add index %q: the name is taken", b.name)
	}
	s.builds = append(s.builds, b)
	return nil
}

func (s *Store[T]) endBuild(b *building[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builds = slices.DeleteFunc(s.builds, func(other *building[T]) bool { return other == b })
}

func sortIndexers[T any](indexers []indexer[T]) {
	slices.SortFunc(indexers, func(a, b indexer[T]) int { return cmp.Compare(a.name, b.name) })
}
