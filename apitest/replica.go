package apitest

import (
	"context"
	"net/http"
	"time"
)

// A Replica is one of several API servers that share a storage. Each replica has its own watch cache.
//
// A live replica sees every commit at once. A frozen replica continues to serve the state that it had: its cached lists
// are old, and its watches are silent. A request with a newer resourceVersion gets "Too large resource version" after
// three seconds. A consistent read (no resourceVersion) waits three seconds for the cache, and is then answered from
// storage, as by kube-apiserver.
//
// Every Replica is an http.Handler. Server.Route chooses the replica that answers requests to the server itself.
type Replica struct {
	srv  *Server
	name string

	// Under the lock of storage.
	born   uint64 // the watch cache has only changes after this version
	frozen *frozen
	stale  *history // what the watch cache has since only the storage was restored; nil if it has what the storage has
}

// frozen is the state that a replica had when it was frozen.
type frozen struct {
	rv   uint64
	logs map[*table]window
}

// A window is the part of a table's log that a replica shows.
type window struct {
	log   []change
	floor uint64 // the oldest version that a watch can start from
	lost  uint64 // a watch that has not reached this version is too slow
}

// Name returns the name that was given to Server.Replica.
func (r *Replica) Name() string { return r.name }

// ServeHTTP answers one request with what this replica shows.
func (r *Replica) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.srv.serve(r, w, req) }

// Freeze stops the replica's watch cache where it is. A second call does nothing.
func (r *Replica) Freeze() {
	s := r.srv.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.frozen != nil {
		return
	}
	f := &frozen{rv: r.rv(), logs: make(map[*table]window, len(s.tables))}
	for _, t := range s.tables { // the order does not matter: the windows go into a map
		f.logs[t] = r.window(t)
	}
	r.frozen = f
	r.history().pins[r] = f.rv
}

// Unfreeze lets the replica catch up. Its open watches get the changes that they missed. If a watch missed more than
// the window holds, the replica closes it.
func (r *Replica) Unfreeze() {
	s := r.srv.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	r.frozen = nil
	delete(r.history().pins, r)
	s.wake()
}

// Frozen reports whether the replica is frozen, and the version of the state that it shows.
func (r *Replica) Frozen() (resourceVersion string, frozen bool) {
	s := r.srv.storage
	s.mu.RLock()
	defer s.mu.RUnlock()
	return formatRV(r.rv()), r.frozen != nil
}

// rv returns the version of the state that the replica shows. The caller holds the lock.
func (r *Replica) rv() uint64 {
	if r.frozen != nil {
		return r.frozen.rv
	}
	return r.history().rv
}

// history returns what the replica's watch cache is a position in. The caller holds the lock.
func (r *Replica) history() *history {
	if r.stale != nil {
		return r.stale
	}
	return &r.srv.storage.history
}

// table returns t as the replica's watch cache has it. The caller holds the lock.
func (r *Replica) table(t *table) *table { return r.history().tables[t.res.ID()] }

// window returns the part of t that is in the replica's watch cache. The caller holds the lock.
func (r *Replica) window(t *table) window {
	if r.frozen != nil {
		return r.frozen.logs[t]
	}
	t = r.table(t)
	return window{log: t.log, floor: max(t.floor, r.born), lost: t.lost}
}

// waitFor waits until the replica shows rv. If it returns nil, it holds the read lock, and the caller has to release it.
// After Options.FreshnessTimeout, it returns the error of kube-apiserver.
func (r *Replica) waitFor(ctx context.Context, rv uint64) error {
	s := r.srv.storage
	s.mu.RLock()
	if rv <= r.rv() {
		return nil
	}
	timer := time.NewTimer(r.srv.opts.FreshnessTimeout)
	defer timer.Stop()
	for {
		changed, current := s.changed, r.rv()
		s.mu.RUnlock()
		select {
		case <-changed:
		case <-timer.C:
			return tooLarge(rv, current)
		case <-r.srv.done:
			return errShuttingDown
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.RLock()
		if rv <= r.rv() {
			return nil
		}
	}
}
