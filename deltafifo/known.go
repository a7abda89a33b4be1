package deltafifo

import (
	"fmt"
	"slices"
	"strings"
)

// knownView is what Known held when the producer looked, in key order.
type knownView[T any] struct {
	states []known[T]
	fresh  map[string]known[T] // what Known says of the keys whose processing ended since; it counts for more
	cursor int                 // where get looks first: a list comes in key order too
}

// known is what Known says of one key.
type known[T any] struct {
	state[T]
	ok bool
}

// get returns what Known says of key.
func (v *knownView[T]) get(key string) (state[T], bool) {
	if k, ok := v.fresh[key]; ok {
		return k.state, k.ok
	}
	i := v.cursor
	if i >= len(v.states) || v.states[i].key != key {
		var found bool
		i, found = slices.BinarySearchFunc(v.states, key, func(k known[T], key string) int { return strings.Compare(k.key, key) })
		if !found {
			return state[T]{}, false
		}
	}
	v.cursor = i + 1
	return v.states[i].state, v.states[i].ok
}

// withKnown reads what Known holds, takes the lock and calls f. At that moment the view is true for every key that is
// neither queued nor being processed.
//
// Known is read without the lock, which takes a while, and the consumer goes on meanwhile: what was queued when the
// reading began may have been processed when it ends, and have come into Known, or have gone from it, before or after its
// key was looked at. So the queue notes the keys whose processing ends, and those are read again, until none is left.
// There is one producer and it is here, so each key ends once, and this ends too.
func (q *Queue[T]) withKnown(f func(*knownView[T])) error {
	v := &knownView[T]{fresh: map[string]known[T]{}}
	if q.known != nil {
		q.watch(true)
		defer q.watch(false)
		if err := guard(func() { v.states = q.readKnown(sorted(q.known.Keys())) }); err != nil {
			return fmt.Errorf("known objects: %w", err)
		}
	}
	for {
		q.mu.Lock()
		ended := q.ended
		q.ended = nil
		if len(ended) == 0 {
			defer q.mu.Unlock()
			f(v)
			return nil
		}
		q.mu.Unlock()
		err := guard(func() {
			for _, k := range q.readKnown(ended) {
				v.fresh[k.key] = k
			}
		})
		if err != nil {
			return fmt.Errorf("known objects: %w", err)
		}
	}
}

// sorted returns keys in their order. They are Known's, and stay as they are.
func sorted(keys []string) []string {
	if slices.IsSorted(keys) {
		return keys // as a Store has them
	}
	return slices.Sorted(slices.Values(keys))
}

// readKnown asks Known for each key. It runs user code.
func (q *Queue[T]) readKnown(keys []string) []known[T] {
	out := make([]known[T], len(keys))
	for i, key := range keys {
		obj, ok := q.get(key)
		out[i] = known[T]{state: state[T]{key: key}, ok: ok}
		if ok {
			out[i].obj, out[i].uid = obj, obj.GetUID()
		}
	}
	return out
}

// watch begins or ends the noting of keys whose processing ends.
func (q *Queue[T]) watch(on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.watched, q.ended = on, nil
}
