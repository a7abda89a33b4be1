package store

import (
	"fmt"
	"slices"

	"github.com/relist-go/relist/object"
)

// Replace makes items the content of the store, and moves [Store.ResourceVersion] forward to
// resourceVersion. Of several items with one key, the last wins. If an item has no key, Replace
// returns an error, and nothing has changed.
//
// Replace builds the new state without a lock, and stops readers and other writers only to exchange
// it. What they have written meanwhile is replaced, too.
func (s *Store[T]) Replace(items []T, resourceVersion string) error {
	o := new(owner)
	all := make(cells[T], len(items))
	for i, obj := range items {
		key, err := object.KeyOf(obj)
		if err != nil {
			return fmt.Errorf("store: replace: item %d of %d: %w", i, len(items), err)
		}
		all[i] = newCell(o, key, obj)
	}
	all = all.normalized()

	next := view[T]{items: build(o, all)}
	var byKey table[T]
	byKey.resize(len(all))
	for _, c := range all {
		byKey.put(hashString(s.seed, c.key), nil, c)
	}
	for {
		indexers := s.indexers.Load()
		next.indexers = *indexers
		next.indexes = make([]index[T], len(next.indexers))
		for i := range next.indexers {
			next.indexes[i] = buildIndex(o, &next.indexers[i], all)
		}
		s.mu.Lock()
		if indexers == s.indexers.Load() {
			next.rv = later(s.view.rv, resourceVersion)
			s.view, s.owner = next, o
			s.byKey.exchange(&byKey)
			s.shared.Store(false)
			for i := range next.indexers {
				if b := next.indexers[i].building; b != nil {
					b.replaced = true
					clear(b.changed)
				}
			}
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock() // AddIndexer has begun or ended meanwhile
	}
}

// buildIndex runs an index function on every object and files the results. The cells are in key
// order.
func buildIndex[T object.Object](o *owner, x *indexer[T], all cells[T]) index[T] {
	filed := make(map[string][]string, len(all))
	byValue := map[string]*gathered[T]{}
	var buf [8]string
	for _, c := range all {
		values := x.run(buf[:0], c.get())
		var own []string
		for i, value := range values {
			g := byValue[value]
			if g == nil {
				g = &gathered[T]{alone: []string{value}}
				byValue[value] = g
			}
			g.cells = append(g.cells, c)
			if len(values) == 1 {
				own = g.alone
			} else {
				own = append(slices.Grow(own, len(values)-i), g.alone[0])
			}
		}
		if len(own) > 0 {
			filed[c.key] = own
		}
	}
	sets := make(cells[set[T]], 0, len(byValue))
	for value, g := range byValue { // in any order: normalized sorts
		sets = append(sets, newCell(o, value, set[T]{build(o, g.cells), g.alone}))
	}
	return index[T]{filed: filed, sets: build(o, sets.normalized())}
}

// gathered is a set that is being built.
type gathered[T any] struct {
	cells cells[T]
	alone []string
}
