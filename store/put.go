package store

import (
	"fmt"

	"github.com/relist-go/relist/object"
)

// plan has the index functions that a writer calls before it takes the lock. Once it has the lock, it uses the results if the
// store still has the same plan, and starts again otherwise. A plan is never changed, only replaced.
type plan[T object.Object] struct {
	indexers []indexer[T]
	builds   []*building[T] // the indexes that AddIndexer is filling, which have to know about writes
}

// run appends to values those of obj in the first index, in the second and so on, and to ends where those of each end.
func (p *plan[T]) run(values []string, ends []int, obj T) ([]string, []int, error) {
	for i := range p.indexers {
		var err error
		if values, err = p.indexers[i].run(values, obj); err != nil {
			return nil, nil, err
		}
		ends = append(ends, len(values))
	}
	return values, ends, nil
}

// fileAll runs the functions of the indexes that are being added on every object.
func (p *plan[T]) fileAll(all cells[T]) []map[string]filing[T] {
	filings := make([]map[string]filing[T], len(p.builds))
	for i, b := range p.builds {
		filings[i] = make(map[string]filing[T], len(all))
		for _, c := range all {
			values, err := b.run(nil, c.get())
			filings[i][c.key] = filing[T]{cell: c, values: values, err: err}
		}
	}
	return filings
}

// file runs the functions of the indexes that are being added. The cells of the filings are set later.
func (p *plan[T]) file(obj T) []filing[T] {
	if len(p.builds) == 0 {
		return nil
	}
	filings := make([]filing[T], len(p.builds))
	for i, b := range p.builds {
		values, err := b.run(nil, obj)
		filings[i] = filing[T]{values: values, err: err}
	}
	return filings
}

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
	hash := hashBytes(s.seed, key)
	for {
		p := s.plan.Load()
		f := filed{key: key, hash: hash}
		if f.values, f.ends, err = p.run(someValues[:0], someEnds[:0], obj); err != nil {
			return fmt.Errorf("store: %s: %w", op, err)
		}
		filings := p.file(obj)
		s.mu.Lock()
		if p != s.plan.Load() {
			s.mu.Unlock()
			continue // an index was added meanwhile, or is being added
		}
		c := s.write(f, name, obj)
		for i, b := range p.builds {
			filings[i].cell = c
			b.file(filings[i])
		}
		s.passed(rv)
		s.mu.Unlock()
		return nil
	}
}

// filed is a key and the values of its object in every index.
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
	return c
}
