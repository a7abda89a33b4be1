package store

import (
	"fmt"
	"maps"
	"slices"
)

// AddIndexer adds an index to the store and files in it what the store holds already. [Store.ByIndex] knows the index
// once AddIndexer has returned. A name that is taken, a nil function, and a function that panics on an object are errors;
// then there is no such index.
//
// Readers and writers go on meanwhile, and however busy they are it ends: the function is called once for each object that
// the store holds now, and from now on for each that is written, by whoever writes it. A write on which it panics while
// the index is being added takes place; the error is AddIndexer's, unless the object is gone or mended by then.
//
// What was written meanwhile is filed in the end, at most one change for each key, and readers of lists and indexes wait
// for that, a few microseconds for each.
func (s *Store[T]) AddIndexer(name string, fn func(T) []string) error {
	if fn == nil {
		return fmt.Errorf("store: add index %q: %w", name, errNoFunction)
	}
	b := &building[T]{indexer: indexer[T]{name: name, fn: fn}}
	snapshot, err := s.beginBuild(b)
	if err != nil {
		return err
	}
	defer s.endBuild(b)
	o := new(owner)
	built, err := buildIndex(o, &b.indexer, snapshot.all(), func(key string) bool { return s.writtenSince(b, key) })
	if err == nil {
		err = s.install(o, b, built)
	}
	if err != nil {
		return fmt.Errorf("store: add index: %w", err)
	}
	return nil
}

// building is an index that AddIndexer makes of a snapshot while others write to the store. The store's mu guards all but
// the indexer.
type building[T Object] struct {
	indexer[T]
	replaced bool                 // nothing of the snapshot counts, because Replace was called
	changed  map[string]filing[T] // what was written since the snapshot, or since that Replace
}

// filing is one write, as an index that is being built is told of it.
type filing[T any] struct {
	cell   *cell[T]
	values []string
	err    error // of the indexer: there are no values
	gone   bool  // the object was deleted
}

// file notes a write.
func (b *building[T]) file(f filing[T]) {
	if b.changed == nil {
		b.changed = map[string]filing[T]{}
	}
	b.changed[f.cell.key] = f
}

// replace notes a write that leaves nothing of what there was.
func (b *building[T]) replace(all map[string]filing[T]) { b.replaced, b.changed = true, all }

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

// writtenSince reports whether the object of a key is no longer the one of the snapshot.
func (s *Store[T]) writtenSince(b *building[T], key string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, changed := b.changed[key]
	return changed || b.replaced
}

// install files what was written since the snapshot and puts the finished index in its place. No code of the user's own
// is called.
func (s *Store[T]) install(o *owner, b *building[T], built index[T]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.replaced {
		built = index[T]{}
	}
	if err := built.fileAll(o, b.changed); err != nil {
		return err
	}
	at, _ := s.view.indexer(b.name)
	// A copy, because snapshots and plans have this slice.
	s.view.indexers = slices.Insert(slices.Clone(s.view.indexers), at, b.indexer)
	s.view.indexes = slices.Insert(s.view.indexes, at, built)
	s.plan.Store(&plan[T]{indexers: s.view.indexers, builds: s.plan.Load().builds})
	return nil
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
