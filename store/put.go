package store

import (
	"fmt"
	"slices"
)

func (s *Store[T]) put(op string, obj T) error {
	var (
		someKey    [keySize]byte // in place of an allocation, as are the others
		someValues [8]string
		someEnds   [8]int
	)
	key, name, rv, err := identify(someKey[:0], obj)
	if err != nil {
		return fmt.Errorf("store: %s: %w", op, err)
	}
	hash := hashBytes(s.seed, key)
	for {
		p := s.plan.Load()
		f := filed{key: key, hash: hash}
		if f.values, f.ends, err = p.run(someValues[:0], someEnds[:0], obj); err != nil {
			return fmt.Errorf("store: %s: %w", op, err)
		}
		filings := p.file(obj)
		c, moves := s.stays(f)
		s.mu.Lock()
		if p != s.plan.Load() {
			s.mu.Unlock()
			continue // an index was added meanwhile, or is being added
		}
		if c != nil && moves == s.moves.Load() && c.owner == s.writable() {
			c.set(obj)
		} else {
			c = s.write(f, name, obj)
		}
		for i, b := range p.builds {
			filings[i].cell = c
			b.file(filings[i])
		}
		s.passed(rv)
		s.mu.Unlock()
		return nil
	}
}

// filed is where an object belongs.
type filed struct {
	key    []byte
	hash   uint32
	values []string // those in the first index, in the second and so on
	ends   []int    // where those of each index end
}

// in returns the values in the i-th index.
func (f *filed) in(i int) []string {
	if i == 0 {
		return f.values[:f.ends[0]]
	}
	return f.values[f.ends[i-1]:f.ends[i]]
}

// stays returns the cell of an object that is there already, under the same values in each index, and when that was. To
// write to the cell is all that is left to be done then, and all that readers are stopped for: to find it takes ten times
// as long, and they go on meanwhile.
func (s *Store[T]) stays(f filed) (c *cell[T], moves uint64) {
	moves = s.moves.Load()
	c = s.byKey.findBytes(f.hash, f.key)
	if c == nil || len(f.ends) == 0 {
		return c, moves
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(f.ends) != len(s.view.indexes) {
		return nil, 0
	}
	for i := range s.view.indexes {
		if !slices.Equal(s.view.indexes[i].filed[c.key], f.in(i)) {
			return nil, 0
		}
	}
	return c, moves
}

// write puts an object into its cell, or into a new one, and files that. A name is the key as a string, if there is one
// already. It needs mu.
func (s *Store[T]) write(f filed, name string, obj T) *cell[T] {
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
		s.view.indexes[i].put(o, c, f.in(i), fresh)
	}
	s.moves.Add(1)
	return c
}
