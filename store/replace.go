package store

import "fmt"

// Replace makes items all that the store holds, and moves [Store.ResourceVersion] forward to that of the list. Of several
// items with one key the last wins. On an error, which says which item has no key or which index function panicked,
// nothing has changed.
//
// The new state is built aside; readers and other writers are stopped only for the moment of the exchange. What was
// written while it was built is replaced too.
func (s *Store[T]) Replace(items []T, resourceVersion string) error {
	all := entries[T]{keys: make([]string, len(items)), values: make([]T, len(items))}
	for i, obj := range items {
		key, err := KeyOf(obj)
		if err != nil {
			return fmt.Errorf("store: replace: item %d of %d: %w", i, len(items), err)
		}
		all.keys[i], all.values[i] = key, obj
	}
	all.normalize()

	o := new(owner)
	next := view[T]{items: build(o, all)}
	byKey := make(map[string]T, len(all.keys))
	for i, key := range all.keys {
		byKey[key] = all.values[i]
	}
	p := s.plan()
	for {
		next.indexers = p.indexers
		next.indexes = make([]index[T], len(next.indexers))
		for i := range next.indexers {
			var err error
			if next.indexes[i], err = buildIndex(o, &next.indexers[i], all); err != nil {
				return fmt.Errorf("store: replace: %w", err)
			}
		}
		wholes, failed := make([]index[T], len(p.builds)), make([]error, len(p.builds))
		for i, b := range p.builds {
			wholes[i], failed[i] = buildIndex(o, &b.indexer, all)
		}
		s.mu.Lock()
		if s.holds(p) {
			next.rv = later(s.view.rv, resourceVersion)
			s.view, s.byKey, s.owner = next, byKey, o
			s.shared.Store(false)
			for i, b := range p.builds {
				b.replace(wholes[i], failed[i])
			}
			s.mu.Unlock()
			return nil
		}
		p = s.currentPlan() // an index was added meanwhile, or is being added
		s.mu.Unlock()
	}
}

// buildIndex runs an index function on every entry and files the results. The entries are in key order.
func buildIndex[T any](o *owner, x *indexer[T], all entries[T]) (index[T], error) {
	var byKey entries[[]string]
	byValue := map[string]*entries[T]{}
	for i, key := range all.keys {
		values, err := x.run(key, all.values[i])
		if err != nil {
			return index[T]{}, err
		}
		if len(values) == 0 {
			continue
		}
		byKey.add(key, values)
		for _, value := range values {
			objects := byValue[value]
			if objects == nil {
				objects = new(entries[T])
				byValue[value] = objects
			}
			objects.add(key, all.values[i])
		}
	}
	var sets entries[tree[T]]
	for value, objects := range byValue { // in any order: normalize sorts
		sets.add(value, build(o, *objects))
	}
	sets.normalize()
	return index[T]{byKey: build(o, byKey), byValue: build(o, sets)}, nil
}
