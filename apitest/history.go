package apitest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A history holds the states of all objects under one counter. The storage has one. A replica's watch cache shares it,
// until only the storage is restored from a backup: from then on the cache has a history of its own.
//
// Each type is a table. A table has the keys in order, and for each key its states, the oldest first. A list at any
// resourceVersion that was not compacted is one walk over the table. A table also has a log of the last changes, for
// watches.
type history struct {
	window int // changes kept for each type

	rv        uint64
	compacted uint64 // exact lists at an older version get a 410
	tokens    uint64 // a continue token of this version or an older one gets a 410
	tables    map[string]*table
	garbage   []superseded        // oldest first
	pins      map[*Replica]uint64 // the version at which a replica is frozen
}

// continueTTL is how long a superseded state can still be listed, and so how long a continue token works: kube-apiserver
// compacts etcd every five minutes.
const continueTTL = 5 * time.Minute

// A table holds one type.
type table struct {
	res   *Resource
	rules rules
	words words

	items []*item // by key
	log   []change
	floor uint64 // a watch can begin at this version or later
	lost  uint64 // every change after this version is in log
}

// An item is one key and its states, oldest first.
type item struct {
	key    string
	states []*revision
}

// A change is what one commit did to one object. If the object is new, prev is nil. If the object was deleted, cur is
// a tombstone: cur.deleted is true.
type change struct {
	prev, cur *revision
	dropped   bool // watches do not show it
}

type eventType string

const (
	added    eventType = "ADDED"
	modified eventType = "MODIFIED"
	deleted  eventType = "DELETED"
)

// superseded says that the oldest state of an item is no longer the current one.
type superseded struct {
	table *table
	item  *item
	by    uint64 // the version of the state that replaced it
	when  time.Time
}

func (t *table) find(key string) (int, bool) {
	return slices.BinarySearchFunc(t.items, key, func(it *item, key string) int { return strings.Compare(it.key, key) })
}

// current returns the live state of key, or nil.
func (t *table) current(key string) *revision {
	i, ok := t.find(key)
	if !ok {
		return nil
	}
	if last := t.items[i].states[len(t.items[i].states)-1]; !last.deleted {
		return last
	}
	return nil
}

// at returns the state that an item had at rv, or nil.
func (it *item) at(rv uint64) *revision {
	for _, r := range slices.Backward(it.states) {
		if r.rv <= rv {
			if r.deleted {
				return nil
			}
			return r
		}
	}
	return nil
}

// kind returns the type of the event that a watch without selectors gets for the change.
func (c change) kind() eventType {
	switch {
	case c.cur.deleted:
		return deleted
	case c.prev == nil:
		return added
	}
	return modified
}

// add appends a change, whose version is newer than all others.
func (h *history) add(t *table, c change, now time.Time) {
	i, ok := t.find(c.cur.key)
	if !ok {
		t.items = slices.Insert(t.items, i, &item{key: c.cur.key})
	}
	it := t.items[i]
	if c.prev != nil {
		h.garbage = append(h.garbage, superseded{t, it, c.cur.rv, now})
	}
	if c.cur.deleted {
		h.garbage = append(h.garbage, superseded{t, it, c.cur.rv, now}) // the tombstone can be removed later, too
	}
	it.states = append(it.states, c.cur)
	h.rv = c.cur.rv
	t.log = append(t.log, c)
	if over := len(t.log) - h.window; over > 0 {
		t.lost = t.log[over-1].cur.rv
		t.floor = max(t.floor, t.log[over].cur.rv-1)
		// The entries stay in the array until append makes a new one, because a frozen replica may still read them.
		t.log = t.log[over:]
	}
	h.collect(now.Add(-continueTTL))
}

// collect drops states that were superseded before deadline, except states that a frozen replica still shows.
func (h *history) collect(deadline time.Time) {
	oldest := h.rv
	for _, rv := range h.pins { // the order does not matter for a minimum
		oldest = min(oldest, rv)
	}
	n := 0
	for ; n < len(h.garbage); n++ {
		g := h.garbage[n]
		if g.when.After(deadline) || g.by > oldest {
			break
		}
		h.compacted = max(h.compacted, g.by)
		g.item.states[0] = nil
		g.item.states = g.item.states[1:]
		if len(g.item.states) == 0 {
			if i, ok := g.table.find(g.item.key); ok && g.table.items[i] == g.item {
				g.table.items = slices.Delete(g.table.items, i, i+1)
			}
		}
	}
	if h.garbage = h.garbage[n:]; len(h.garbage) == 0 {
		h.garbage = nil
	}
}

// compact empties the windows, and makes lists at every earlier version impossible, as compaction of etcd does.
func (h *history) compact(now time.Time) {
	h.compacted = h.rv
	h.collect(now)
	for _, t := range h.tables { // each is changed by itself: the order does not matter
		t.floor = h.rv
	}
}

// restore brings back the state at rv, and removes every later state. The counter continues at rv.
func (h *history) restore(rv uint64) {
	for _, t := range h.tables { // each is changed by itself: the order does not matter
		t.items = slices.DeleteFunc(t.items, func(it *item) bool {
			n := len(it.states)
			for n > 0 && it.states[n-1].rv > rv {
				n--
			}
			it.states = it.states[:n:n]
			return n == 0
		})
		t.log, t.floor, t.lost = nil, rv, rv
	}
	h.garbage = slices.DeleteFunc(h.garbage, func(g superseded) bool { return g.by > rv })
	h.rv = rv
	h.compacted = min(h.compacted, rv)
	h.tokens = min(h.tokens, rv)
	clear(h.pins)
}

// clone returns a copy. The two share the states of objects, which never change.
func (h *history) clone() *history {
	c := *h
	c.pins = maps.Clone(h.pins)
	c.tables = make(map[string]*table, len(h.tables))
	copies := make(map[*item]*item)
	for id, t := range h.tables { // the order does not matter: the copies go into a map
		n := *t
		n.log = slices.Clone(t.log)
		n.items = make([]*item, len(t.items))
		for i, it := range t.items {
			n.items[i] = &item{key: it.key, states: slices.Clone(it.states)}
			copies[it] = n.items[i]
		}
		c.tables[id] = &n
	}
	c.garbage = slices.Clone(h.garbage)
	for i, g := range c.garbage {
		c.garbage[i].table, c.garbage[i].item = c.tables[g.table.res.ID()], copies[g.item]
	}
	return &c
}

// walk calls yield for each object of sel as it was at rv, in key order. It begins at the key start, and ends early if
// yield returns false.
func (t *table) walk(sel selection, start string, rv uint64, yield func(i int, r *revision) bool) {
	prefix := sel.prefix()
	i, _ := t.find(max(prefix, start))
	for ; i < len(t.items); i++ {
		it := t.items[i]
		if !strings.HasPrefix(it.key, prefix) {
			return
		}
		if r := it.at(rv); r != nil && !yield(i, r) {
			return
		}
	}
}
