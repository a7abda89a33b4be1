package deltafifo

import (
	"slices"
	"strings"
)

// knownView is a copy of what Known held when the producer read it, in key order.
type knownView[T any] struct {
	states []known[T]
	fresh  map[string]known[T] // a newer state for the keys whose processing ended since; get prefers it
	cursor int                 // the index at which get looks first, because a list comes in key order, too
}

// known is what Known holds for one key.
type known[T any] struct {
	state[T]
	ok bool
}

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

// withKnown reads all of Known, takes the lock and calls f with the copy. While f runs, the copy is
// right for every key that is neither queued nor being processed.
//
// Reading Known takes a while, and withKnown does not hold the lock meanwhile, so the consumer
// continues. It may process an entry and change Known before or after withKnown has read that key.
// So the queue records the keys whose processing ends, and withKnown reads these keys again until
// there are no more. This loop ends, because the one producer is here and queues nothing, so only
// the entries that are queued now can end.
func (q *Queue[T]) withKnown(f func(*knownView[T])) {
	v := &knownView[T]{fresh: map[string]known[T]{}}
	if q.known != nil {
		q.watch(true)
		defer q.watch(false)
		v.states = q.readKnown(sorted(q.known.Keys()))
	}
	for {
		q.mu.Lock()
		ended := q.ended
		q.ended = nil
		if len(ended) == 0 {
			defer q.mu.Unlock()
			f(v)
			return
		}
		q.mu.Unlock()
		for _, k := range q.readKnown(ended) {
			v.fresh[k.key] = k
		}
	}
}

// sorted returns keys in sorted order. It does not change keys, because the slice may be Known's
// own.
func sorted(keys []string) []string {
	if slices.IsSorted(keys) {
		return keys // as the keys of a Store are
	}
	return slices.Sorted(slices.Values(keys))
}

// readKnown reads each key from Known. It runs user code.
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

// watch begins or ends the recording of keys whose processing ends.
func (q *Queue[T]) watch(on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.watched, q.ended = on, nil
}
