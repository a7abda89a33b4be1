package apitest

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// storage stands for etcd. It holds the states of all objects. One counter gives each write its resourceVersion.
//
// Each type is a table. A table has the keys in order, and for each key its states, the oldest first. A list at any
// resourceVersion that was not compacted is one walk over the table. A table also has a log of the last changes, for
// watches. A replica (replica.go) owns no data: it is a position in these logs.
type storage struct {
	window int           // changes kept for each type
	ttl    time.Duration // how long a superseded state stays listable

	mu        sync.RWMutex
	rv        uint64
	compacted uint64 // exact lists at an older version get a 410
	tokens    uint64 // a continue token of this version or an older one gets a 410
	restored  int    // how often a backup was restored
	tables    map[string]*table
	changed   chan struct{} // each change closes this channel, and makes a new one
	garbage   []superseded  // oldest first
	commits   commitLog
	drops     map[eventType]int   // how many of the next changes watches do not show
	pins      map[*Replica]uint64 // the version at which a replica is frozen
}

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

func newStorage(resources []Resource, window int, ttl time.Duration, rv uint64) *storage {
	s := &storage{
		window: window, ttl: ttl, rv: rv, compacted: rv,
		tables:  make(map[string]*table, len(resources)),
		changed: make(chan struct{}),
		drops:   make(map[eventType]int),
		pins:    make(map[*Replica]uint64),
		commits: commitLog{first: rv + 1},
	}
	for _, r := range resources {
		res := r.complete()
		s.tables[res.ID()] = &table{res: &res, rules: newRules(&res), words: newWords(&res), floor: rv, lost: rv}
	}
	return s
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

// commit stores r. Its rv must be s.rv+1. The caller holds the lock.
func (s *storage) commit(t *table, r *revision) {
	now := time.Now()
	i, ok := t.find(r.key)
	if !ok {
		t.items = slices.Insert(t.items, i, &item{key: r.key})
	}
	it := t.items[i]
	c := change{cur: r}
	if n := len(it.states); n > 0 && !it.states[n-1].deleted {
		c.prev = it.states[n-1]
		s.garbage = append(s.garbage, superseded{t, it, r.rv, now})
	}
	if r.deleted {
		s.garbage = append(s.garbage, superseded{t, it, r.rv, now}) // the tombstone can be removed later, too
	}
	it.states = append(it.states, r)
	s.rv = r.rv
	s.commits.add(now)

	if typ := c.kind(); s.drops[typ] > 0 {
		s.drops[typ]--
		c.dropped = true
	}
	t.log = append(t.log, c)
	if over := len(t.log) - s.window; over > 0 {
		t.lost = t.log[over-1].cur.rv
		t.floor = max(t.floor, t.log[over].cur.rv-1)
		// The entries stay in the array until append makes a new one, because a frozen replica may still read them.
		t.log = t.log[over:]
	}
	s.collect(now.Add(-s.ttl))
	s.wake()
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

// wake wakes every watch, and every request that waits for a version. The caller holds the lock.
func (s *storage) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// collect drops states that were superseded before deadline, except states that a frozen replica still shows.
func (s *storage) collect(deadline time.Time) {
	oldest := s.rv
	for _, rv := range s.pins { // the order does not matter for a minimum
		oldest = min(oldest, rv)
	}
	n := 0
	for ; n < len(s.garbage); n++ {
		g := s.garbage[n]
		if g.when.After(deadline) || g.by > oldest {
			break
		}
		s.compacted = max(s.compacted, g.by)
		g.item.states[0] = nil
		g.item.states = g.item.states[1:]
		if len(g.item.states) == 0 {
			if i, ok := g.table.find(g.item.key); ok && g.table.items[i] == g.item {
				g.table.items = slices.Delete(g.table.items, i, i+1)
			}
		}
	}
	if s.garbage = s.garbage[n:]; len(s.garbage) == 0 {
		s.garbage = nil
	}
}

// compact makes lists at every earlier version impossible, as compaction of etcd does.
func (s *storage) compact() {
	s.compacted = s.rv
	s.collect(time.Now())
}

// restore brings back the state at rv, and removes every later state. The counter continues at rv.
func (s *storage) restore(rv uint64) {
	for _, t := range s.tables { // each is changed by itself: the order does not matter
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
	s.garbage = slices.DeleteFunc(s.garbage, func(g superseded) bool { return g.by > rv })
	s.commits.truncate(rv)
	s.rv = rv
	s.restored++
	s.compacted = min(s.compacted, rv)
	s.tokens = min(s.tokens, rv)
	clear(s.pins)
	s.wake()
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

// fork returns a new storage that holds only the current state of one object. Dry runs use it.
func (s *storage) fork(t *table, key string) *storage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := newStorage([]Resource{*t.res}, 1, s.ttl, s.rv)
	if r := t.current(key); r != nil {
		f.tables[t.res.ID()].items = []*item{{key: key, states: []*revision{r}}}
	}
	return f
}
