package store

import (
	"errors"
	"slices"

	"github.com/relist-go/relist/object"
)

// Indexers are index functions by name. A function returns the values under which [Store.ByIndex]
// finds an object. It may return no values, and the same value twice counts once. It must depend
// only on the object.
type Indexers[T any] map[string]func(T) []string

// ErrUnknownIndex is what ByIndex returns, wrapped, for an index that was never added.
var ErrUnknownIndex = errors.New("unknown index")

// indexer is an index function and its name. A store's indexers are a slice ordered by name that is
// replaced, never changed.
type indexer[T object.Object] struct {
	name     string
	fn       func(T) []string
	building *building // nil once the index is complete; readers do not know it before
}

// run calls the function and appends its values to dst, sorted, and each once. It does not keep the
// slice that the function returned.
func (x *indexer[T]) run(dst []string, obj T) []string {
	at := len(dst)
	dst = append(dst, x.fn(obj)...)
	slices.Sort(dst[at:])
	return dst[:at+len(slices.Compact(dst[at:]))]
}

// index finds objects by value. It remembers the values of each object. To call the function again
// for the old object would be simpler, and would leave entries behind if somebody has changed the
// object, or if the function does not always return the same.
type index[T any] struct {
	filed map[string][]string // the values of each object that has any, by its key; only writers look at it
	sets  tree[set[T]]        // the objects of each value that has any
}

// set has the objects of one value.
type set[T any] struct {
	objects tree[T]
	alone   []string // the value alone: the entry in filed that all objects with just this value share
}

// put files the object of a cell under values, and removes its key from the values that it had
// before. It keeps the strings, but not the slice. If the index has this very cell already (fresh
// is false), nothing is done for values that stay.
func (x *index[T]) put(o *owner, c *cell[T], values []string, fresh bool) {
	old := x.filed[c.key]
	same := slices.Equal(old, values)
	if same && !fresh {
		return
	}
	for _, value := range old {
		if _, keep := slices.BinarySearch(values, value); !keep {
			x.remove(o, c.key, value)
		}
	}
	var own []string
	for i, value := range values {
		s, _ := x.sets.get(value)
		if s.alone == nil {
			s.alone = []string{value}
		}
		if _, there := slices.BinarySearch(old, value); fresh || !there {
			s.objects.put(o, c)
			x.sets.set(o, value, s)
		}
		if len(values) == 1 {
			own = s.alone
		} else if !same {
			own = append(slices.Grow(own, len(values)-i), s.alone[0])
		}
	}
	switch {
	case same:
	case len(own) == 0:
		delete(x.filed, c.key)
	default:
		if x.filed == nil {
			x.filed = map[string][]string{}
		}
		x.filed[c.key] = own
	}
}

// drop removes key from every value.
func (x *index[T]) drop(o *owner, key string) {
	for _, value := range x.filed[key] {
		x.remove(o, key, value)
	}
	delete(x.filed, key)
}

// remove removes key from one value, and the value if it has no other key.
func (x *index[T]) remove(o *owner, key, value string) {
	s, _ := x.sets.get(value)
	s.objects.delete(o, key)
	if s.objects.len == 0 {
		x.sets.delete(o, value)
		return
	}
	x.sets.set(o, value, s)
}
