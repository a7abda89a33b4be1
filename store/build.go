package store

// build makes a tree of normalized cells, in one pass from the leaves up. Nodes are filled to three quarters, so that
// the first inserts do not split every one of them.
func build[V any](o *owner, all cells[V]) tree[V] {
	level := make([]*node[V], 0, len(all)/fill+1)
	for start := 0; start < len(all); {
		end := next(start, len(all))
		level = append(level, &node[V]{
			owner: o,
			cells: append(make(cells[V], 0, capacity(end-start)), all[start:end]...),
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
				n.keys = append(n.keys, child.first())
			}
			above = append(above, n)
			start = end
		}
		level = above
	}
	t := tree[V]{len: len(all)}
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
