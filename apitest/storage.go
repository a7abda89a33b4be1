package apitest

import (
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/relist-go/relist/server/watchcache"
)

// storage stands for etcd. One counter gives each write its resourceVersion. The log of each type
// reaches back to the last compaction, so a state since then can be listed and restored.
type storage struct {
	mu        sync.RWMutex
	rv        uint64
	compacted uint64 // lists at an older version get a 410
	tokens    uint64 // a continue token of this version or an older one gets a 410
	first     uint64 // the version before the first write
	tables    map[string]*table
	unused    *watchcache.Cache   // the log of the types that nobody has written yet
	garbage   []superseded        // oldest first
	replicas  []*Replica          // whose caches follow
	drops     map[eventType]int   // how many of the next changes watches do not show
	dropped   map[uint64]struct{} // the versions of the changes that they do not show
}

// A table holds one type.
type table struct {
	res    *Resource
	rules  rules
	stored *Resource // res, unless another type has the same objects: events.k8s.io
	*contents
}

// contents are the objects of a table. The two tables of Events share theirs.
type contents struct {
	// log has the present objects, and the changes since the last compaction. It is a watch cache,
	// because that can do what etcd does: it lists a state of the past, and a watch brings the
	// changes after a version. Before the first write, it is storage.unused.
	log *watchcache.Cache
}

type eventType = watchcache.EventType

// continueTTL is how long a superseded state can still be listed, and so how long a continue token
// works: kube-apiserver compacts etcd every five minutes.
const continueTTL = 5 * time.Minute

// superseded says that a change has replaced or removed a state.
type superseded struct {
	table *table
	by    uint64 // the version of the change
	when  time.Time
}

func newStorage(resources []Resource, rv uint64) *storage {
	s := &storage{
		rv: rv, compacted: rv, first: rv, tables: make(map[string]*table, len(resources)), unused: newLog(rv, nil),
		drops: make(map[eventType]int), dropped: make(map[uint64]struct{}),
	}
	for _, r := range resources {
		res := r.complete()
		s.tables[res.ID()] = &table{res: &res, rules: newRules(&res), stored: &res, contents: &contents{s.unused}}
	}
	if core, group := s.tables[coreEvents], s.tables[groupEvents]; core != nil && group != nil {
		group.stored, group.rules, group.contents = core.res, core.rules, core.contents
	}
	return s
}

func newLog(version uint64, objects []watchcache.Object) *watchcache.Cache {
	log := watchcache.New(watchcache.Options{MinEvents: math.MaxInt})
	fill(log, version, objects)
	return log
}

func fill(c *watchcache.Cache, version uint64, objects []watchcache.Object) {
	if err := c.Fill(version, objects); err != nil {
		// unreachable: the storage takes no object without a name.
		panic("apitest: " + err.Error())
	}
}

// current returns the live state of key, or nil.
func (t *table) current(key string) *revision {
	r, _ := t.log.Now(key).(*revision)
	return r
}

// list returns objects as they were at a version that was not compacted, from the key start on. The
// error is one of a version of the future. The caller holds the lock.
func (s *storage) list(t *table, sel watchcache.Selection, start string, version uint64, limit int64) (*watchcache.Page, error) {
	t.log.Progress(s.rv)
	p, err := t.log.ListAt(sel, start, version, limit)
	if tooLarge, ok := errors.AsType[*apierrors.StatusError](err); ok {
		tooLarge.ErrStatus.Details.RetryAfterSeconds = 0 // only a cache can be behind
	}
	return p, err
}

// present returns the objects of now. The caller holds the lock.
func (s *storage) present(t *table, sel watchcache.Selection, limit int64) *watchcache.Page {
	p, err := s.list(t, sel, "", s.rv, limit)
	if err != nil {
		// unreachable: the log is at this version.
		panic("apitest: " + err.Error())
	}
	return p
}

// commit stores r. Its rv must be s.rv+1. The caller holds the lock.
func (s *storage) commit(t *table, r *revision) {
	now := time.Now()
	prev := t.current(r.key)
	typ := watchcache.Modified
	switch {
	case r.deleted:
		typ = watchcache.Deleted
	case prev == nil:
		typ = watchcache.Added
	}
	if s.drops[typ] > 0 {
		s.drops[typ]--
		s.dropped[r.rv] = struct{}{}
	}
	s.rv = r.rv
	if t.log == s.unused {
		t.log = newLog(s.first, nil)
	}
	t.log.Apply(r, r.deleted)
	if prev != nil {
		s.garbage = append(s.garbage, superseded{t, r.rv, now})
	}
	s.collect(now.Add(-continueTTL))
	s.feed(t)
}

// feed brings the caches of all replicas up to date after a change of t, or of the counter alone.
// The caller holds the lock.
func (s *storage) feed(t *table) {
	for _, r := range s.replicas {
		if r.frozen {
			continue
		}
		if t != nil {
			r.follow(t)
		}
		r.progress()
	}
}

// collect drops the changes that superseded something before deadline, unless a frozen replica
// lacks them.
func (s *storage) collect(deadline time.Time) {
	n, missing := 0, s.missing()
	for ; n < len(s.garbage) && !s.garbage[n].when.After(deadline) && s.garbage[n].by <= missing; n++ {
		g := s.garbage[n]
		s.compacted = max(s.compacted, g.by)
		g.table.log.Drop(g.by)
	}
	if s.garbage = s.garbage[n:]; len(s.garbage) == 0 {
		s.garbage = nil
	}
}

// missing returns the version after which a frozen replica lacks changes.
func (s *storage) missing() uint64 {
	oldest := s.rv
	for _, r := range s.replicas {
		if r.frozen {
			oldest = min(oldest, r.version())
		}
	}
	return oldest
}

// compact makes lists at every earlier version impossible, as compaction of etcd does, and empties
// the windows.
func (s *storage) compact() {
	s.compacted = s.rv
	s.collect(time.Now())
	for _, r := range s.replicas {
		if !r.frozen {
			r.each(func(c *watchcache.Cache) { c.Forget() })
		}
	}
}

// restore brings back the state at rv, and removes every later change. The counter continues at rv.
// The caches stay as they are.
func (s *storage) restore(rv uint64) {
	for _, t := range s.tables { // each is changed by itself: the order does not matter
		t.log.Progress(rv)
		log, _ := t.log.Log() // nothing comes out of order
		log.Changes = slices.DeleteFunc(log.Changes, func(c watchcache.Logged) bool { return c.Object.Version() > rv })
		log.Version = rv
		if err := t.log.Restore(log); err != nil {
			// unreachable: the objects were in the log before.
			panic("apitest: " + err.Error())
		}
	}
	s.garbage = slices.DeleteFunc(s.garbage, func(g superseded) bool { return g.by > rv })
	for version := range s.dropped { // each is looked at by itself: the order does not matter
		if version > rv {
			delete(s.dropped, version)
		}
	}
	s.rv = rv
	s.tokens = min(s.tokens, rv)
}

// fork returns a new storage that holds only the current state of one object. Dry runs use it.
func (s *storage) fork(t *table, key string) *storage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := newStorage([]Resource{*t.stored, *t.res}, s.rv)
	if r := t.current(key); r != nil {
		f.tables[t.res.ID()].log = newLog(s.rv, []watchcache.Object{r})
	}
	return f
}
