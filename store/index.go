package store

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
)

// Indexers are index functions by name. A function gives the values under which [Store.ByIndex] finds an object; none is
// allowed, and one that comes twice counts once. It must depend on nothing but the object.
type Indexers[T any] map[string]func(T) []string

// ErrUnknownIndex is what ByIndex returns, wrapped, for an index that was never added.
var ErrUnknownIndex = errors.New("unknown index")

// IndexError says that an index function panicked. The call that ran it has changed nothing.
type IndexError struct {
	Key   string // of the object
	Index string // its name
	Value any    // what the function panicked with
	Stack []byte // where, as runtime/debug.Stack formats it
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("index %q of object %q: panic: %v", e.Index, e.Key, e.Value)
}

// Unwrap returns the panic value if it is an error, so that errors.Is finds it.
func (e *IndexError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// indexer is an index function and its name. A store's indexers are a slice ordered by name that is replaced, never
// changed: two looks at it that find the same address have found the same functions.
type indexer[T any] struct {
	name string
	fn   func(T) []string
}

// run calls the function and returns its values sorted, each once, in a slice of their own.
func (x *indexer[T]) run(key string, obj T) (values []string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &IndexError{Key: key, Index: x.name, Value: v, Stack: debug.Stack()}
		}
	}()
	got := x.fn(obj)
	if len(got) == 0 {
		return nil, nil
	}
	values = slices.Clone(got)
	slices.Sort(values)
	return slices.Compact(values), nil
}

// runAll runs each of the indexers on one object.
func runAll[T any](indexers []indexer[T], key string, obj T) ([][]string, error) {
	if len(indexers) == 0 {
		return nil, nil
	}
	values := make([][]string, len(indexers))
	for i := range indexers {
		var err error
		if values[i], err = indexers[i].run(key, obj); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// index finds objects by value. It remembers under which values it put an object instead of asking the function again:
// an object that somebody changed, or a function that changed its mind, leaves nothing behind.
type index[T any] struct {
	byKey   tree[[]string] // the values of each object that has any
	byValue tree[tree[T]]  // the objects of each value that has any
}

// put files obj under values, and no longer under those that its key had before.
func (x *index[T]) put(o *owner, key string, obj T, values []string) {
	old, _ := x.byKey.get(key)
	for _, value := range old {
		if _, keep := slices.BinarySearch(values, value); !keep {
			x.remove(o, key, value)
		}
	}
	for _, value := range values {
		objects, _ := x.byValue.get(value)
		objects.set(o, key, obj)
		x.byValue.set(o, value, objects)
	}
	switch {
	case slices.Equal(old, values):
	case len(values) == 0:
		x.byKey.delete(o, key)
	default:
		x.byKey.set(o, key, values)
	}
}

// drop removes key from every value.
func (x *index[T]) drop(o *owner, key string) {
	old, _ := x.byKey.get(key)
	for _, value := range old {
		x.remove(o, key, value)
	}
	x.byKey.delete(o, key)
}

// remove removes key from one value, and the value when nothing is left of it.
func (x *index[T]) remove(o *owner, key, value string) {
	objects, _ := x.byValue.get(value)
	objects.delete(o, key)
	if objects.len == 0 {
		x.byValue.delete(o, value)
		return
	}
	x.byValue.set(o, value, objects)
}
