package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/relist-go/relist/object"
)

// AddIndexer adds an index to the store, with the objects that the store holds. [Store.ByIndex] knows the index once AddIndexer has
// returned. If the name is taken, or the function is nil or panics on an object, it returns an error, and there is no such index.
//
// Readers and writers go on meanwhile, and AddIndexer ends however busy they are: it calls the function once for each object that
// the store holds now, and each writer calls the function for the object that it writes. If the function panics on such an object,
// the write takes place, and AddIndexer returns the error, unless the object has been deleted or changed by then.
//
// At the end AddIndexer files the writes that took place meanwhile, one for each key. Readers of lists and indexes wait for that, a
// few microseconds for each key.
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

// building is an index that AddIndexer makes of a snapshot while others write to the store. The store's mu guards all fields but the
// indexer.
type building[T object.Object] struct {
	indexer[T]
	replaced bool                 // Replace was called, so the snapshot counts no more
	changed  map[string]filing[T] // the writes since the snapshot, or since that Replace
}

// filing is one write, for an index that is being built.
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

// replace notes a Replace.
func (b *building[T]) replace(all map[string]filing[T]) { b.replaced, b.changed = true, all }

// fileAll makes the writes in an index. It returns the first error of the index function.
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

// install files the writes since the snapshot, and makes the index one of the store's. It calls no code of the program.
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

// beginBuild takes the name, and has writers report to b from now on. It returns the present objects.
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
