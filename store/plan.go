package store

import "slices"

// plan is what a writer runs on an object before it takes the lock. What it got is of use if the plan is still the
// store's once it has the lock.
type plan[T Object] struct {
	indexers []indexer[T]
	builds   []*building[T] // like indexers, replaced and never changed
}

func (s *Store[T]) plan() plan[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.currentPlan()
}

// currentPlan needs mu.
func (s *Store[T]) currentPlan() plan[T] {
	return plan[T]{indexers: s.view.indexers, builds: s.builds}
}

// holds reports whether nobody has added an index, or begun to, since p was made. It needs mu.
func (s *Store[T]) holds(p plan[T]) bool {
	return same(p.indexers, s.view.indexers) && slices.Equal(p.builds, s.builds)
}

// file runs the functions of the indexes that are being added.
func (p plan[T]) file(key string, obj T) []filing[T] {
	if len(p.builds) == 0 {
		return nil
	}
	filings := make([]filing[T], len(p.builds))
	for i, b := range p.builds {
		values, err := b.run(key, obj)
		filings[i] = filing[T]{obj: obj, values: values, err: err}
	}
	return filings
}
