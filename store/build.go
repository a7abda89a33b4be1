package store

import "sort"

// entries is what a tree is built from: keys and values side by side.
type entries[V any] struct {
	keys   []string
	values []V
}

func (e *entries[V]) Len() int           { return len(e.keys) }
func (e *entries[V]) Less(i, j int) bool { return e.keys[i] < e.keys[j] }
func (e *entries[V]) Swap(i, j int) {
	e.keys[i], e.keys[j] = e.keys[j], e.keys[i]
	e.values[i], e.values[j] = e.values[j], e.values[i]
}

func (e *entries[V]) add(key string, value V) {
	e.keys = append(e.keys, key)
	e.values = append(e.values, value)
}

// normalize sorts the entries by key; of several with one key the last stays. What is sorted already, as a list from the
// API server is, costs one pass.
func (e *entries[V]) normalize() {
	if increasing(e.keys) {
		return
	}
	sort.Stable(e)
	n := 0
	for i := range e.keys {
		if i+1 < len(e.keys) && e.keys[i+1] == e.keys[i] {
			continue
		}
		e.keys[n], e.values[n] = e.keys[i], e.values[i]
		n++
	}
	e.keys, e.values = truncate(e.keys, n), truncate(e.values, n)
}

// increasing reports whether keys are sorted and no two are the same.
func increasing(keys []string) bool {
	for i := 1; i < len(keys); i++ {
		if keys[i-1] >= keys[i] {
			return false
		}
	}
	return true
}

// build makes a tree of normalized entries, in one pass from the leaves up. Nodes are filled to three quarters, so that
// the first inserts do not split every one of them.
func build[V any](o *owner, e entries[V]) tree[V] {
	level := make([]*node[V], 0, len(e.keys)/fill+1)
	for start := 0; start < len(e.keys); {
		end := next(start, len(e.keys))
		level = append(level, &node[V]{
			owner:  o,
			keys:   append(make([]string, 0, capacity(end-start)), e.keys[start:end]...),
			values: append(make([]V, 0, capacity(end-start)), e.values[start:end]...),
		})
		start = end
	}
	for len(level) > 1 {
		var above []*node[V]
		for start := 0; start < len(level); {
			end := next(start, len(level))
			n := &node[V]{owner: o, children: append(make([]*node[V], 0, maxEntries), level[start:end]...)}
			n.keys = make([]string, 0, maxEntries)
			for _, child := range n.children {
				n.keys = append(n.keys, child.keys[0])
			}
			above = append(above, n)
			start = end
		}
		level = above
	}
	t := tree[V]{len: len(e.keys)}
	if len(level) == 1 {
		t.root = level[0]
	}
	return t
}

// fill is the number of entries that build puts into a node.
const fill = maxEntries * 3 / 4

// next returns the end of the node that begins at start. What would leave a nearly empty node at the end goes into the
// last one.
func next(start, total int) int {
	if total-start <= maxEntries {
		return total
	}
	return start + fill
}

// capacity gives a node that has neighbours room to grow, and a small one, of which an index may have thousands, none.
func capacity(n int) int {
	if n < fill {
		return n
	}
	return maxEntries
}
