package deltafifo

import "slices"

// maxFew is the number of entries that an index looks through one by one: what a map has in one group.
const maxFew = 8

// index finds entries by key.
//
// A consumer that keeps up leaves a handful. To look through those takes a fraction of the time in which a map hashes a
// key, puts it in and takes it out again. The first that is too many moves all of them into a map, and there they stay until
// the queue is drained: see [index.gather].
type index[T any] struct {
	few  []*entry[T]          // all, unless many is in use
	many map[string]*entry[T] // in use while it is not empty
	peak int                  // the most entries that there were in many since it was made
}

// get returns the entry of key, or nil.
func (x *index[T]) get(key string) *entry[T] {
	if len(x.many) > 0 {
		return x.many[key]
	}
	for _, e := range x.few {
		if e.key == key {
			return e
		}
	}
	return nil
}

// find is get for a key that is not a string yet. It does not allocate.
func (x *index[T]) find(key []byte) *entry[T] {
	if len(x.many) > 0 {
		return x.many[string(key)]
	}
	for _, e := range x.few {
		// Keys that are not equal often differ in their last byte, and seldom in the first 20.
		if n := len(key); len(e.key) == n && n > 0 && e.key[n-1] == key[n-1] && e.key == string(key) {
			return e
		}
	}
	return nil
}

// put files an entry whose key has none.
func (x *index[T]) put(e *entry[T]) {
	if len(x.many) == 0 {
		if len(x.few) < maxFew {
			x.few = append(x.few, e)
			return
		}
		if x.many == nil {
			x.many = map[string]*entry[T]{}
		}
		for _, old := range x.few {
			x.many[old.key] = old
		}
		clear(x.few)
		x.few = x.few[:0]
	}
	x.many[e.key] = e
	x.peak = max(x.peak, len(x.many))
}

// drop takes an entry out.
func (x *index[T]) drop(e *entry[T]) {
	if len(x.many) > 0 {
		delete(x.many, e.key)
		return
	}
	i, last := slices.Index(x.few, e), len(x.few)-1
	x.few[i], x.few[last] = x.few[last], nil
	x.few = x.few[:last]
}

// gather goes back from the map to a handful, which is all that is left.
func (x *index[T]) gather(left *ring[*entry[T]]) {
	for i := range left.len {
		e := left.at(i)
		delete(x.many, e.key)
		x.few = append(x.few, e)
	}
}

// len returns the number of entries.
func (x *index[T]) len() int { return len(x.few) + len(x.many) }
