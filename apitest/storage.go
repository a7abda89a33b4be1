package apitest

import (
	"sync"
	"time"
)

// storage stands for etcd, and has the lock for the caches of all replicas. One counter gives each write its
// resourceVersion. A replica (replica.go) owns no data: it is a position in a history.
type storage struct {
	mu sync.RWMutex
	history
	stale    []*history        // of watch caches that were not restored with the storage
	restored int               // how often a backup was restored with the caches
	changed  chan struct{}     // each change closes this channel, and makes a new one
	drops    map[eventType]int // how many of the next changes watches do not show
}

func newStorage(resources []Resource, window int, rv uint64) *storage {
	s := &storage{
		history: history{
			window: window, rv: rv, compacted: rv,
			tables: make(map[string]*table, len(resources)),
			pins:   make(map[*Replica]uint64),
		},
		changed: make(chan struct{}),
		drops:   make(map[eventType]int),
	}
	for _, r := range resources {
		res := r.complete()
		s.tables[res.ID()] = &table{res: &res, rules: newRules(&res), words: newWords(&res), floor: rv, lost: rv}
	}
	return s
}

// commit stores r. Its rv must be s.rv+1. The caller holds the lock.
func (s *storage) commit(t *table, r *revision) {
	now := time.Now()
	c := change{prev: t.current(r.key), cur: r}
	if typ := c.kind(); s.drops[typ] > 0 {
		s.drops[typ]--
		c.dropped = true
	}
	s.add(t, c, now)
	for _, h := range s.stale {
		// etcd sends a watch the changes after the version that the watch has reached, whatever was there before.
		if r.rv > h.rv {
			c.prev = h.tables[t.res.ID()].current(r.key)
			h.add(h.tables[t.res.ID()], c, now)
		}
	}
	s.wake()
}

// wake wakes every watch, and every request that waits for a version. The caller holds the lock.
func (s *storage) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// fork returns a new storage that holds only the current state of one object. Dry runs use it.
func (s *storage) fork(t *table, key string) *storage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := newStorage([]Resource{*t.res}, 1, s.rv)
	if r := t.current(key); r != nil {
		f.tables[t.res.ID()].items = []*item{{key: key, states: []*revision{r}}}
	}
	return f
}
