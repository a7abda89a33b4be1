package store

import "slices"

// maxEntries is the number of keys that a node holds before it splits. At 64 a tree of 100,000 keys has three levels,
// and the copy that a write makes of a shared leaf is 1.5 KB.
const maxEntries = 64

// owner marks the nodes that a writer may change in place: those that it made since it last shared its trees. It is
// compared by address and so must not be of size zero, which would let two owners have one address.
type owner struct{ _ byte }

// tree is a B+ tree from keys to values, ordered by key. Its zero value is empty and ready.
//
// Copying the struct shares the nodes. Of two copies that share, neither may be written to under an owner that made any
// of the shared nodes: the writer takes a new owner, and from then on copies a node before it changes it.
type tree[V any] struct {
	root *node[V]
	len  int
}

// node is a leaf (values) or an inner node (children); both of its slices have one length, at most maxEntries.
// In an inner node keys[i] is not greater than any key under children[i], and greater than all under children[i-1];
// keys[0] is not looked at.
type node[V any] struct {
	owner    *owner
	keys     []string
	values   []V
	children []*node[V]
}

// get returns the value of key.
func (t *tree[V]) get(key string) (v V, ok bool) {
	n := t.root
	if n == nil {
		return v, false
	}
	for n.children != nil {
		n = n.children[n.childFor(key)]
	}
	if i, found := n.find(key); found {
		return n.values[i], true
	}
	return v, false
}

// childFor returns the position of the child under which key is, or would be.
func (n *node[V]) childFor(key string) int {
	lo, hi := 1, len(n.keys)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if n.keys[mid] <= key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// find returns the position of key in a leaf, or where it would be.
func (n *node[V]) find(key string) (int, bool) {
	lo, hi := 0, len(n.keys)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if n.keys[mid] < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(n.keys) && n.keys[lo] == key
}

// set puts value under key, in nodes of o. It keeps the key string that is there already.
func (t *tree[V]) set(o *owner, key string, value V) {
	if t.root == nil {
		t.root = &node[V]{owner: o, keys: []string{key}, values: []V{value}}
		t.len = 1
		return
	}
	t.root = t.root.owned(o)
	added, right := t.root.set(o, key, value)
	if added {
		t.len++
	}
	if right != nil {
		t.root = &node[V]{
			owner:    o,
			keys:     []string{t.root.keys[0], right.keys[0]},
			children: []*node[V]{t.root, right},
		}
	}
}

// set works on a node that o owns. When the node had to split, right is its new neighbour.
func (n *node[V]) set(o *owner, key string, value V) (added bool, right *node[V]) {
	if n.children == nil {
		i, found := n.find(key)
		if found {
			n.values[i] = value
			return false, nil
		}
		into, i, right := n.room(o, i)
		into.keys = slices.Insert(into.keys, i, key)
		into.values = slices.Insert(into.values, i, value)
		return true, right
	}
	i := n.childFor(key)
	child := n.children[i].owned(o)
	n.children[i] = child
	added, next := child.set(o, key, value)
	if next == nil {
		return added, nil
	}
	into, i, right := n.room(o, i+1)
	into.keys = slices.Insert(into.keys, i, next.keys[0])
	into.children = slices.Insert(into.children, i, next)
	return added, right
}

// room says where an entry for position i of n goes: into n, or, when n is full, into one of its halves.
// Keys that arrive in order leave full nodes behind: the upper "half" of a node that grows at its end is empty.
func (n *node[V]) room(o *owner, i int) (into *node[V], at int, right *node[V]) {
	if len(n.keys) < maxEntries {
		return n, i, nil
	}
	half := maxEntries / 2
	if i == maxEntries {
		half = maxEntries
	}
	right = &node[V]{
		owner:    o,
		keys:     slices.Clone(n.keys[half:]),
		values:   slices.Clone(n.values[min(half, len(n.values)):]),
		children: slices.Clone(n.children[min(half, len(n.children)):]),
	}
	n.keys = truncate(n.keys, half)
	n.values = truncate(n.values, min(half, len(n.values)))
	n.children = truncate(n.children, min(half, len(n.children)))
	if i < half {
		return n, i, right
	}
	return right, i - half, right
}

// delete removes key, and reports whether it was there.
func (t *tree[V]) delete(o *owner, key string) bool {
	// Looking first keeps a miss from copying nodes for nothing.
	if _, ok := t.get(key); !ok {
		return false
	}
	t.len--
	t.root = t.root.owned(o)
	t.root.delete(o, key)
	for len(t.root.children) == 1 {
		t.root = t.root.children[0]
	}
	if len(t.root.keys) == 0 {
		t.root = nil
	}
	return true
}

// delete works on a node that o owns and that has key under it.
func (n *node[V]) delete(o *owner, key string) {
	if n.children == nil {
		i, _ := n.find(key)
		n.keys = slices.Delete(n.keys, i, i+1)
		n.values = slices.Delete(n.values, i, i+1)
		return
	}
	i := n.childFor(key)
	child := n.children[i].owned(o)
	n.children[i] = child
	child.delete(o, key)
	switch {
	case len(child.keys) >= maxEntries/4:
	case i > 0 && n.fits(i-1):
		n.merge(o, i-1)
	case i+1 < len(n.keys) && n.fits(i):
		n.merge(o, i)
	case len(child.keys) == 0:
		n.keys = slices.Delete(n.keys, i, i+1)
		n.children = slices.Delete(n.children, i, i+1)
	}
}

// fits reports whether the children at i and i+1 go into one node with room to spare, so that the next insert does not
// split it again.
func (n *node[V]) fits(i int) bool {
	return len(n.children[i].keys)+len(n.children[i+1].keys) < maxEntries*3/4
}

// merge moves what the child at i+1 holds to the child at i.
func (n *node[V]) merge(o *owner, i int) {
	left, right := n.children[i].owned(o), n.children[i+1]
	n.children[i] = left
	if len(right.keys) > 0 {
		at := len(left.keys)
		left.keys = append(left.keys, right.keys...)
		if left.children != nil {
			// The first key of an inner node is not kept up to date: the parent's is.
			left.keys[at] = n.keys[i+1]
		}
		left.values = append(left.values, right.values...)
		left.children = append(left.children, right.children...)
	}
	n.keys = slices.Delete(n.keys, i+1, i+2)
	n.children = slices.Delete(n.children, i+1, i+2)
}

// owned returns n if o may change it, or else a copy that o may change.
func (n *node[V]) owned(o *owner) *node[V] {
	if n.owner == o {
		return n
	}
	return &node[V]{
		owner:    o,
		keys:     slices.Clone(n.keys),
		values:   slices.Clone(n.values),
		children: slices.Clone(n.children),
	}
}

// truncate shortens s to n and lets go of what was behind.
func truncate[E any](s []E, n int) []E {
	clear(s[n:])
	return s[:n]
}
