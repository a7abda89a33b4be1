package store

// plan is what a writer runs on an object before it takes the lock. What it got is of use if the plan is still the
// store's once it has the lock. A plan is replaced, and never changed.
type plan[T Object] struct {
	indexers []indexer[T]
	builds   []*building[T] // the indexes that AddIndexer is filling, to be told of what changes
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

// file runs the functions of the indexes that are being added. The filings have no cell yet.
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
