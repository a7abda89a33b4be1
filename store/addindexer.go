package store

import (
	"fmt"
	"maps"
	"slices"
)

const (
	// fewChanges are filed under the lock, in some tens of microseconds.
	fewChanges = 64

	// maxRounds is how often AddIndexer tries to come down to fewChanges. A round files what was written during the one
	// before, and to file a change takes a part of the time that it took to write it, so each is a fraction of the last.
	// After this many the rest is filed under the lock, whatever it is: at most one change for each key.
	maxRounds = 8
)

// AddIndexer adds an index to the store and files in it what the store holds already. [Store.ByIndex] knows the index
// once AddIndexer has returned. A name that is taken, a nil function, and a function that panics on an object are errors;
// then there is no such index.
//
// Readers and writers go on meanwhile, and however busy they are it ends: the function is called once for each object that
// the store holds now, and from now on for each that is written, by whoever writes it. A write on which it panics while
// the index is being added takes place; the error is AddIndexer's, unless the object is gone or mended by then.
func (s *Store[T]) AddIndexer(name string, fn func(T) []string) error {
	if fn == nil {
		return fmt.Errorf("store: add index %q: %w", name, errNoFunction)
	}
	b := &building[T]{indexer: indexer[T]{name: name, fn: fn}}
	items, err := s.beginBuild(b)
	if err != nil {
		return err
	}
	defer s.endBuild(b)

	o := new(owner)
	built, err := buildIndex(o, &b.indexer, items.all())
	for round, done := 1, false; err == nil && !done; round++ {
		var changed map[string]filing[T]
		if changed, done, err = s.progress(b, o, &built, round > maxRounds); err == nil && !done {
			err = built.fileAll(o, changed)
		}
	}
	if err != nil {
		return fmt.Errorf("store: add index: %w", err)
	}
	return nil
}

// building is an index that AddIndexer fills while others write to the store. The store's mu guards all but the indexer.
type building[T Object] struct {
	indexer[T]
	whole   *index[T]            // of what Replace wrote since AddIndexer last looked; nil if it was not called
	failed  error                // of the indexer, in that Replace
	changed map[string]filing[T] // what was written after that, or since AddIndexer last looked
}

// filing is one write, as an index that is being built is told of it.
type filing[T any] struct {
	cell   *cell[T]
	values []string
	err    error // of the indexer: there are no values
	gone   bool  // the object was deleted
}

// file takes note of a write.
func (b *building[T]) file(f filing[T]) {
	if b.changed == nil {
		b.changed = map[string]filing[T]{}
	}
	b.changed[f.cell.key] = f
}

// replace takes note of a write that leaves nothing of what there was.
func (b *building[T]) replace(whole index[T], failed error) {
	b.whole, b.failed, b.changed = &whole, failed, nil
}

// fileAll does to an index what was written. An error says that one of the objects has no values.
func (x *index[T]) fileAll(o *owner, changed map[string]filing[T]) error {
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		switch f := changed[key]; {
		case f.err != nil:
			return f.err
		case f.gone:
			x.drop(o, key)
		default:
			x.put(o, f.cell, f.values, true)
		}
	}
	return nil
}

// progress returns what was written since the last call, to be filed. When that is little, or the last that AddIndexer has
// the patience for, it files it itself and puts the finished index in its place. No code of the user's own is called.
func (s *Store[T]) progress(b *building[T], o *owner, built *index[T], last bool) (changed map[string]filing[T], done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.whole != nil {
		*built, err = *b.whole, b.failed
	}
	changed = b.changed
	b.whole, b.failed, b.changed = nil, nil, nil
	if err != nil || len(changed) > fewChanges && !last {
		return changed, false, err
	}
	if err := built.fileAll(o, changed); err != nil {
		return nil, false, err
	}
	at, _ := s.view.indexer(b.name)
	// A copy, because snapshots and plans have this slice.
	s.view.indexers = slices.Insert(slices.Clone(s.view.indexers), at, b.indexer)
	s.view.indexes = slices.Insert(s.view.indexes, at, *built)
	s.plan.Store(&plan[T]{indexers: s.view.indexers, builds: s.plan.Load().builds})
	return nil, true, nil
}

// beginBuild claims the name and has writers report to b. It returns the objects of that moment.
func (s *Store[T]) beginBuild(b *building[T]) (tree[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, taken := s.view.indexer(b.name)
	p := s.plan.Load()
	for _, other := range p.builds {
		taken = taken || other.name == b.name
	}
	if taken {
		return tree[T]{}, fmt.Errorf("store: add index %q: the name is taken", b.name)
	}
	s.plan.Store(&plan[T]{indexers: p.indexers, builds: append(slices.Clip(p.builds), b)})
	s.shared.Store(true)
	return s.view.items, nil
}

func (s *Store[T]) endBuild(b *building[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plan.Load()
	builds := slices.DeleteFunc(slices.Clone(p.builds), func(other *building[T]) bool { return other == b })
	s.plan.Store(&plan[T]{indexers: p.indexers, builds: builds})
}
