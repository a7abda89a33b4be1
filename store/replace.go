package store

import (
	"fmt"
	"slices"

	"github.com/relist-go/relist/object"
)

// Replace makes items the content of the store, and moves [Store.ResourceVersion] forward to resourceVersion. Of several items with
// one key, the last wins. If an item has no key, or an index function panics, Replace returns an error, and nothing has changed.
//
// Replace builds the new state without a lock, and stops readers and other writers only to exchange it. What they have written
// meanwhile is replaced, too.
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
		p := s.plan.Load()
		next.indexers = p.indexers
		next.indexes = make([]index[T], len(next.indexers))
		for i := range next.indexers {
			var err error
			if next.indexes[i], err = buildIndex(o, &next.indexers[i], all, nil); err != nil {
				return fmt.Errorf("store: replace: %w", err)
			}
		}
		filings := p.fileAll(all)
		s.mu.Lock()
		if p == s.plan.Load() {
			next.rv = later(s.view.rv, resourceVersion)
			s.view, s.owner = next, o
			s.byKey.exchange(&byKey)
			s.shared.Store(false)
			for i, b := range p.builds {
				b.replace(filings[i])
			}
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock() // an index was added meanwhile, or is being added
	}
}

// buildIndex runs an index function on every object and files the results. The cells are in key order. If the function panics on an
// object, and skip is not nil and returns true for its key, then the object is left out.
func buildIndex[T object.Object](o *owner, x *indexer[T], all cells[T], skip func(key string) bool) (index[T], error) {
	filed := make(map[string][]string, len(all))
	byValue := map[string]*gathered[T]{}
	var buf [8]string
	for _, c := range all {
		values, err := x.run(buf[:0], c.get())
		if err != nil {
			if skip != nil && skip(c.key) {
				continue
			}
			return index[T]{}, err
		}
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
	return index[T]{filed: filed, sets: build(o, sets.normalized())}, nil
}

// gathered is a set that is being built.
type gathered[T any] struct {
	cells cells[T]
	alone []string
}
