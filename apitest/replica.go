package apitest

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/relist-go/relist/server/watchcache"
)

// A Replica is one of several API servers that share a storage. Each replica has its own watch
// cache of each type.
//
// A live replica sees every commit at once. A frozen replica continues to serve the state that it
// had: its cached lists are old, and its watches are silent. A request with a newer resourceVersion
// gets "Too large resource version" after three seconds. A consistent read (no resourceVersion)
// waits three seconds for the cache, and is then answered from storage, as by kube-apiserver.
//
// Every Replica is an http.Handler. Server.Route chooses the replica that answers requests to the
// server itself.
type Replica struct {
	srv    *Server
	name   string
	frozen bool // under the lock of storage

	mu     sync.Mutex
	caches map[*contents]*watchcache.Cache // of the types that somebody has written or asked for
	idle   *watchcache.Cache               // all other types have what this one has: no objects, a version and a window
}

// newReplica returns a replica whose caches are filled now. The caller holds the lock of the
// storage.
func (s *Server) newReplica(name string) *Replica {
	r := &Replica{srv: s, name: name, caches: make(map[*contents]*watchcache.Cache)}
	r.idle = r.newCache()
	r.fillAll()
	s.storage.replicas = append(s.storage.replicas, r)
	return r
}

// find returns the replica of a name, or nil, and the names of all replicas.
func (s *Server) find(name string) (found *Replica, names string) {
	s.storage.mu.RLock()
	defer s.storage.mu.RUnlock()
	var all []string
	for _, r := range s.storage.replicas {
		if all = append(all, strconv.Quote(r.name)); r.name == name {
			found = r
		}
	}
	return found, strings.Join(all, ", ")
}

func (r *Replica) newCache() *watchcache.Cache {
	opts := r.srv.opts
	return watchcache.New(watchcache.Options{MinEvents: opts.Window, MaxEvents: opts.Window, Wait: opts.FreshnessTimeout})
}

// of returns the cache of a type. The caller holds the lock of the storage, for reading at least.
func (r *Replica) of(t *table) *watchcache.Cache {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.caches[t.contents]
	if c == nil {
		c = r.newCache()
		oldest, _ := r.idle.Window()
		fill(c, oldest, nil)
		c.Progress(r.idle.Version())
		r.caches[t.contents] = c
		select {
		case <-r.srv.done:
			c.Lose() // as Close has done to the others
		default:
		}
	}
	return c
}

// fill makes a list of the storage the state of a cache. Its window begins there, and its watches
// end.
func (r *Replica) fill(t *table) {
	p := r.srv.storage.present(t, watchcache.Selection{}, 0)
	fill(r.of(t), p.Version, p.Objects)
}

func (r *Replica) fillAll() {
	s := r.srv.storage
	fill(r.idle, s.rv, nil)
	for _, t := range s.tables { // each by itself: the order does not matter
		if r.caches[t.contents] != nil || t.log.Len() > 0 {
			r.fill(t)
		}
	}
}

// follow applies the changes that a cache lacks.
func (r *Replica) follow(t *table) {
	c := r.of(t)
	changes, ok := t.log.Since(c.Version())
	if !ok {
		// unreachable: the log keeps the changes that a frozen replica lacks, and other replicas
		// lack none.
		panic("apitest: the storage has dropped changes that a cache lacks")
	}
	for _, change := range changes {
		c.Apply(change.Object, change.Deleted)
	}
}

// progress tells every cache the version of the storage, as etcd's progress notifications do.
func (r *Replica) progress() {
	if !r.srv.opts.NoProgress {
		r.each(func(c *watchcache.Cache) { c.Progress(r.srv.storage.rv) })
	}
}

// each calls do for every cache, in any order.
func (r *Replica) each(do func(*watchcache.Cache)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(r.idle)
	for _, c := range r.caches {
		do(c)
	}
}

// version returns the version of the newest cache.
func (r *Replica) version() (newest uint64) {
	r.each(func(c *watchcache.Cache) { newest = max(newest, c.Version()) })
	return newest
}

// cache returns the cache of a type, and the version of the storage. While Restore breaks the
// connections, it waits, so that nothing of what was restored is sent through them.
func (r *Replica) cache(t *table) (c *watchcache.Cache, latest uint64) {
	s := r.srv.storage
	s.mu.RLock()
	defer s.mu.RUnlock()
	return r.of(t), s.rv
}

// ServeHTTP answers one request with what this replica shows.
func (r *Replica) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.srv.serve(r, w, req) }

// Freeze stops the replica's watch caches where they are. A second call does nothing.
func (r *Replica) Freeze() {
	s := r.srv.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	r.frozen = true
}

// Unfreeze lets the replica catch up. Its open watches get the changes that they missed. If a watch
// missed more than the window holds, the replica closes it.
func (r *Replica) Unfreeze() {
	s := r.srv.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	r.frozen = false
	for _, t := range s.tables { // each by itself: the order does not matter
		r.follow(t)
	}
	r.progress()
}

// Frozen reports whether the replica is frozen, and the version of the state that it shows.
func (r *Replica) Frozen() (resourceVersion string, frozen bool) {
	s := r.srv.storage
	s.mu.RLock()
	defer s.mu.RUnlock()
	return formatRV(r.version()), r.frozen
}
