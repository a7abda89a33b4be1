package store

// walk calls yield for each entry in key order until yield says false. It must not run while the nodes are written to.
func (t *tree[V]) walk(yield func(key string, value V) bool) {
	if t.root != nil {
		t.root.walk(yield)
	}
}

func (n *node[V]) walk(yield func(string, V) bool) bool {
	for _, child := range n.children {
		if !child.walk(yield) {
			return false
		}
	}
	for _, c := range n.cells {
		if !yield(c.key, c.get()) {
			return false
		}
	}
	return true
}

// values returns all values in key order. The slice is all that it allocates.
func (t *tree[V]) values() []V {
	if t.root == nil {
		return []V{}
	}
	return t.root.appendValues(make([]V, 0, t.len))
}

func (n *node[V]) appendValues(out []V) []V {
	for _, child := range n.children {
		out = child.appendValues(out)
	}
	for _, c := range n.cells {
		out = append(out, c.get())
	}
	return out
}

// keys returns all keys in order.
func (t *tree[V]) keys() []string {
	if t.root == nil {
		return []string{}
	}
	return t.root.appendKeys(make([]string, 0, t.len))
}

func (n *node[V]) appendKeys(out []string) []string {
	for _, child := range n.children {
		out = child.appendKeys(out)
	}
	for _, c := range n.cells {
		out = append(out, c.key)
	}
	return out
}

// all returns all cells in key order.
func (t *tree[V]) all() cells[V] {
	if t.root == nil {
		return nil
	}
	return t.root.appendCells(make(cells[V], 0, t.len))
}

func (n *node[V]) appendCells(out cells[V]) cells[V] {
	for _, child := range n.children {
		out = child.appendCells(out)
	}
	return append(out, n.cells...)
}
