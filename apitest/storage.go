package apitest

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// storage plays etcd: every state of every object, under one counter.
//
// A type is a slice of keys in order, each with its states, oldest first; a list at any resourceVersion that was not
// compacted is one walk over it. Beside it, each type has the log of its last changes, from which watches are served.
// A replica (replica.go) owns no data: it is a position in these logs.
type storage struct {
	window int           // changes kept for each type
	ttl    time.Duration // how long a superseded state stays listable

	mu        sync.RWMutex
	rv        uint64
	compacted uint64 // exact reads below this are gone
	tokens    uint64 // continue tokens at or below this are refused
	restored  int    // how often a backup was restored
	tables    map[string]*table
	changed   chan struct{} // closed, and replaced, by every change
	garbage   []superseded  // oldest first
	commits   commitLog
	drops     map[eventType]int // how many changes watches are to miss
	pins      map[*Replica]uint64
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

// A change is what one commit did to one object. prev is nil for a new one; cur is a tombstone for a deletion.
type change struct {
	prev, cur *revision
	dropped   bool // watches are to miss it
}

type eventType string

const (
	added    eventType = "ADDED"
	modified eventType = "MODIFIED"
	deleted  eventType = "DELETED"
)

// superseded notes that the oldest state of an item is no longer current.
type superseded struct {
	table *table
	item  *item
	by    uint64
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

// commit stores r, whose rv is s.rv+1. The caller holds the lock.
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
		s.garbage = append(s.garbage, superseded{t, it, r.rv, now}) // the tombstone itself is of no use later
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
		// The entries stay in the array until it is next grown: a frozen replica may still read them.
		t.log = t.log[over:]
	}
	s.collect(now.Add(-s.ttl))
	s.wake()
}

// kind is what a watch without selectors calls the change.
func (c change) kind() eventType {
	switch {
	case c.cur.deleted:
		return deleted
	case c.prev == nil:
		return added
	}
	return modified
}

// wake lets every watch and every wait look again. The caller holds the lock.
func (s *storage) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// collect drops states that were superseded before deadline, unless a frozen replica still shows them.
func (s *storage) collect(deadline time.Time) {
	oldest := s.rv
	for _, rv := range s.pins { // a minimum: the order does not matter
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

// compact makes every earlier state unlistable, as etcd's compaction does.
func (s *storage) compact() {
	s.compacted = s.rv
	s.collect(time.Now())
}

// restore brings back the state at rv, forgets what came after it and lets the counter go on from there.
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

// walk calls yield for each object of sel at rv, from key start on, in key order.
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

// fork returns a storage that holds one object's present state and nothing else, for dry runs.
func (s *storage) fork(t *table, key string) *storage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := newStorage([]Resource{*t.res}, 1, s.ttl, s.rv)
	if r := t.current(key); r != nil {
		f.tables[t.res.ID()].items = []*item{{key: key, states: []*revision{r}}}
	}
	return f
}
