package store

import (
	"sort"
	"sync/atomic"
)

// cell is a key and its value. An object of a store has one cell, which the tree of objects, the
// trees of each index and the table share. So one write changes the object in all of them.
//
// As with nodes, only the owner that made a cell may change its value. Everybody else makes a new
// cell and puts it in the old one's place, everywhere. The key never changes. A cell may be read
// without a lock while its owner writes.
type cell[V any] struct {
	owner *owner
	key   string
	value atomic.Pointer[V] // never nil
}

func newCell[V any](o *owner, key string, value V) *cell[V] {
	c := &cell[V]{owner: o, key: key}
	c.set(value)
	return c
}

func (c *cell[V]) get() V      { return *c.value.Load() }
func (c *cell[V]) set(value V) { c.value.Store(&value) }

// cells are what a tree is built from.
type cells[V any] []*cell[V]

func (c cells[V]) Len() int           { return len(c) }
func (c cells[V]) Less(i, j int) bool { return c[i].key < c[j].key }
func (c cells[V]) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }

// normalized returns the cells sorted by key. Of several cells with one key, it keeps the last. If
// the cells are sorted already, as a list from the API server is, it takes one pass. It works in
// place.
func (c cells[V]) normalized() cells[V] {
	if c.increasing() {
		return c
	}
	sort.Stable(c)
	n := 0
	for i := range c {
		if i+1 < len(c) && c[i+1].key == c[i].key {
			continue
		}
		c[n] = c[i]
		n++
	}
	return truncate(c, n)
}

// increasing reports whether the cells are sorted and no two have one key.
func (c cells[V]) increasing() bool {
	for i := 1; i < len(c); i++ {
		if c[i-1].key >= c[i].key {
			return false
		}
	}
	return true
}
