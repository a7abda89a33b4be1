package apitest

import (
	"net/http"

	"github.com/relist-go/relist/watchcache"
)

// A Replica is one of several API servers that share a storage. Each replica has its own watch cache of each type.
//
// A live replica sees every commit at once. A frozen replica continues to serve the state that it had: its cached lists
// are old, and its watches are silent. A request with a newer resourceVersion gets "Too large resource version" after
// three seconds. A consistent read (no resourceVersion) waits three seconds for the cache, and is then answered from
// storage, as by kube-apiserver.
//
// Every Replica is an http.Handler. Server.Route chooses the replica that answers requests to the server itself.
type Replica struct {
	srv    *Server
	name   string
	caches map[*table]*watchcache.Cache

	frozen bool // under the lock of storage
}

// newReplica returns a replica whose caches are filled now. The caller holds the lock of the storage.
func (s *Server) newReplica(name string) *Replica {
	r := &Replica{srv: s, name: name, caches: make(map[*table]*watchcache.Cache, len(s.storage.tables))}
	window := s.opts.Window
	for _, t := range s.storage.tables { // the order does not matter: the caches go into a map
		r.caches[t] = watchcache.New(watchcache.Options{MinEvents: window, MaxEvents: window, Wait: s.opts.FreshnessTimeout})
		r.fill(t)
	}
	s.storage.replicas = append(s.storage.replicas, r)
	return r
}

// fill makes a list of the storage the state of a cache. Its window begins there, and its watches end.
func (r *Replica) fill(t *table) {
	p := r.srv.storage.present(t, watchcache.Selection{}, 0)
	fill(r.caches[t], p.Version, p.Objects)
}

// follow applies the changes that a cache lacks. As in kube-apiserver, they are those that a watch of etcd brings: what is
// numbered up to the cache's version never comes, even if the storage was restored from a backup.
func (r *Replica) follow(t *table) {
	c := r.caches[t]
	changes, ok := t.log.Since(c.Version())
	if !ok {
		// unreachable: the log keeps the changes that a frozen replica lacks, and other replicas lack none.
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

// each calls do for the cache of each type, in any order.
func (r *Replica) each(do func(*watchcache.Cache)) {
	for _, c := range r.caches {
		do(c)
	}
}

// version returns the version of the newest cache.
func (r *Replica) version() (newest uint64) {
	r.each(func(c *watchcache.Cache) { newest = max(newest, c.Version()) })
	return newest
}

// cache returns the cache of a type, and the version of the storage. While Restore breaks the connections, it waits, so that
// nothing of what was restored is sent through them.
func (r *Replica) cache(t *table) (c *watchcache.Cache, latest uint64) {
	s := r.srv.storage
	s.mu.RLock()
	defer s.mu.RUnlock()
	return r.caches[t], s.rv
}

// Name returns the name that was given to Server.Replica.
func (r *Replica) Name() string { return r.name }

// ServeHTTP answers one request with what this replica shows.
func (r *Replica) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.srv.serve(r, w, req) }

// Freeze stops the replica's watch caches where they are. A second call does nothing.
func (r *Replica) Freeze() {
	s := r.srv.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	r.frozen = true
}

// Unfreeze lets the replica catch up. Its open watches get the changes that they missed. If a watch missed more than
// the window holds, the replica closes it.
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
