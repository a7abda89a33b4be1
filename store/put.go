package store

import (
	"fmt"
	"slices"

	"github.com/relist-go/relist/object"
)

func (s *Store[T]) put(op string, obj T) error {
	var (
		someKey    [object.KeySize]byte // these three avoid allocations
		someValues [8]string
		someEnds   [8]int
	)
	key, name, rv, err := identify(someKey[:0], obj)
	if err != nil {
		return fmt.Errorf("store: %s: %w", op, err)
	}
	f := filed{key: key, hash: hashBytes(s.seed, key)}
	for {
		indexers := s.indexers.Load()
		f.values, f.ends = someValues[:0], someEnds[:0]
		for i := range *indexers {
			f.values = (*indexers)[i].run(f.values, obj)
			f.ends = append(f.ends, len(f.values))
		}
		s.mu.Lock()
		if indexers == s.indexers.Load() {
			s.write(f, name, obj)
			s.passed(rv)
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock() // AddIndexer has begun or ended meanwhile
	}
}

// filed is a key and the values of its object in every index.
type filed struct {
	key    []byte
	hash   uint32
	values []string // those in the first index, in the second and so on
	ends   []int    // where those of each index end
}

func (f *filed) in(i int) []string {
	if i == 0 {
		return f.values[:f.ends[0]]
	}
	return f.values[f.ends[i-1]:f.ends[i]]
}

// write puts an object into its cell, or into a new one, and files that. A name is the key as a
// string, if there is one already. It needs mu.
func (s *Store[T]) write(f filed, name string, obj T) {
	o := s.writable()
	c := s.byKey.findBytes(f.hash, f.key)
	fresh := c == nil || c.owner != o
	if fresh {
		old, key := c, name
		switch {
		case old != nil:
			key = old.key
		case key == "":
			key = string(f.key)
		}
		c = newCell(o, key, obj)
		s.byKey.put(f.hash, old, c)
		s.view.items.put(o, c)
	} else {
		c.set(obj)
	}
	for i := range s.view.indexes {
		if b := s.view.indexers[i].building; b != nil {
			b.changed[c.key] = slices.Clone(f.in(i))
		} else {
			s.view.indexes[i].put(o, c, f.in(i), fresh)
		}
	}
}
