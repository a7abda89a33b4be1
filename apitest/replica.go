package apitest

import (
	"context"
	"net/http"
	"time"
)

// A Replica is one API server of several over the same storage, each with its own watch cache.
//
// A live replica sees every commit at once. A frozen replica continues to serve the state that it had: its cached lists
// are old, and its watches are silent. A request with a newer resourceVersion gets "Too large resource version" after
// three seconds. A consistent read (no resourceVersion) waits three seconds for the cache, and is then answered from
// storage, as by kube-apiserver.
//
// Every Replica is an http.Handler; Server.Route says which one the server's own address leads to.
type Replica struct {
	srv  *Server
	name string

	// Under the lock of storage.
	born   uint64 // its cache holds no change up to here
	frozen *frozen
}

// frozen is what a replica saw when it was frozen.
type frozen struct {
	rv   uint64
	logs map[*table]window
}

// A window is the part of a table's log that a replica shows, with the versions that a watch may start from.
type window struct {
	log   []change
	floor uint64 // oldest version to start from
	lost  uint64 // a running watch that has not seen this is too slow
}

// Name returns the name that the replica was made under.
func (r *Replica) Name() string { return r.name }

// ServeHTTP answers one request from this replica's view.
func (r *Replica) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.srv.serve(r, w, req) }

// Freeze stops the replica's watch cache where it is. A second call does nothing.
func (r *Replica) Freeze() {
	s := r.srv.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.frozen != nil {
		return
	}
	f := &frozen{rv: s.rv, logs: make(map[*table]window, len(s.tables))}
	for _, t := range s.tables { // into a map: the order does not matter
		f.logs[t] = r.window(t)
	}
	r.frozen = f
	s.pins[r] = f.rv
}

// Unfreeze lets the replica catch up. Its open watches get the changes that they missed. If a watch missed more than
// the window holds, the replica closes it.
func (r *Replica) Unfreeze() {
	s := r.srv.storage
	s.mu.Lock()
	defer s.mu.Unlock()
	r.frozen = nil
	delete(s.pins, r)
	s.wake()
}

// Frozen reports whether the replica is frozen, and where it stands.
func (r *Replica) Frozen() (resourceVersion string, frozen bool) {
	s := r.srv.storage
	s.mu.RLock()
	defer s.mu.RUnlock()
	return formatRV(r.rv()), r.frozen != nil
}

// rv is the version up to which the replica has seen the storage. The caller holds the lock.
func (r *Replica) rv() uint64 {
	if r.frozen != nil {
		return r.frozen.rv
	}
	return r.srv.storage.rv
}

// window returns what the replica's watch cache holds of t. The caller holds the lock.
func (r *Replica) window(t *table) window {
	if r.frozen != nil {
		return r.frozen.logs[t]
	}
	return window{log: t.log, floor: max(t.floor, r.born), lost: t.lost}
}

// waitFor waits until the replica has seen rv, or fails as kube-apiserver does after Options.FreshnessTimeout.
// It returns with the read lock held if it succeeds.
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
