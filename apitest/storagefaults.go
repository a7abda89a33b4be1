package apitest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/server/watchcache"
)

// metaGroupResource is for errors that must name a type and are about none.
var metaGroupResource = schema.GroupResource{}

// Compact empties the window, and forgets every superseded state. From then on, a watch at an
// earlier version gets a 410. So does an exact list at an earlier version, and a continue token of
// such a list. Open watches go on.
func (s *Server) Compact() {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	s.storage.compact()
}

// CompactWindow empties the windows of one type in every replica that is not frozen. From then on,
// a watch of the type at an earlier version gets a 410, as after so many changes of the type that
// its window has moved on. Lists at earlier versions and continue tokens work as before, because
// etcd does not compact one type alone; see Compact. Open watches go on.
func (s *Server) CompactWindow(resource string) error {
	return s.eachCache("compact a window", resource, func(r *Replica, t *table) { r.of(t).Forget() })
}

// Refill makes every replica that is not frozen fill its cache of a type again: the open watches of
// the type end cleanly and without a reason, and its window is empty. kube-apiserver does so when
// its watch of etcd has failed, and for a custom type when its definition has changed. See
// https://github.com/kubernetes/kubernetes/issues/123074.
func (s *Server) Refill(resource string) error {
	return s.eachCache("fill the caches again", resource, (*Replica).fill)
}

// Lose makes the caches of a type not ready in every replica that is not frozen, until Refill: the
// open watches of the type end, and requests get a 429. kube-apiserver does so while it cannot
// watch etcd. A list with a limit and without selectors comes from the storage, and so does a GET.
func (s *Server) Lose(resource string) error {
	return s.eachCache("lose the caches", resource, func(r *Replica, t *table) { r.of(t).Lose() })
}

// eachCache calls change for a type in every replica that is not frozen. The error says what was
// being done.
func (s *Server) eachCache(what, resource string, change func(*Replica, *table)) error {
	t, err := s.table(resource)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	for _, r := range s.storage.replicas {
		if !r.frozen {
			change(r, t)
		}
	}
	return nil
}

// ExpireContinue makes every continue token that the server has given expire. A request with such a
// token gets a 410. This answer has another token, which continues the list from the current state.
// The counter increases by one, so that the tokens of later lists work.
func (s *Server) ExpireContinue() {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	s.storage.tokens = s.storage.rv
	s.storage.rv++
	s.storage.feed(nil)
}

// A Restore is the restoration of etcd from a backup.
type Restore struct {
	// ResourceVersion is the version of the last write in the backup.
	ResourceVersion string
	// KeepConnections says that clients lose no connection, as behind a proxy that keeps its
	// connections to them. The server ends the open watches cleanly. A list continues with its next
	// page, and that of the restored storage.
	KeepConnections bool
}

// Restore takes the storage back to the state at an earlier version, as the restoration of etcd
// from a backup does. The counter goes back, too, and gives the same versions to other changes
// later. Then the API servers start again: every replica begins with an empty window, and every
// connection breaks, unless x says otherwise. The current version is a backup like any other; with
// that, Restore is a restart of the API servers alone.
//
// Restore breaks the connections of the Listeners before anything of the restored storage can be
// sent through them, except those that HalfOpen spares. If a program serves this handler with an
// http.Server of its own, Restore can break only the open watches.
//
// Restore returns an error if the version is newer than the current one, or was compacted.
func (s *Server) Restore(x Restore) error {
	rv, err := watchcache.ParseVersion(x.ResourceVersion)
	if err != nil {
		return fmt.Errorf("restore a backup: %w", err)
	}
	listeners := s.allListeners()

	st := s.storage
	st.mu.Lock()
	defer st.mu.Unlock()
	if rv < st.compacted || rv > st.rv {
		return fmt.Errorf("restore the backup at resource version %d: only %d to %d are kept", rv, st.compacted, st.rv)
	}
	st.restore(rv)
	if x.KeepConnections {
		s.EndWatches()
	} else {
		for _, l := range listeners {
			l.breakAll()
		}
		_, _ = s.Cut(Cut{Reset: true}) // it names no resource
	}
	for _, r := range st.replicas { // after the connections are broken, see Replica.cache
		r.frozen = false
		r.fillAll()
	}
	return nil
}

// DropEvent makes the watches of every replica leave out the next count events of a type: "ADDED",
// "MODIFIED" or "DELETED". Lists show these changes. A client cannot notice the loss from the watch
// alone.
func (s *Server) DropEvent(typ string, count int) error {
	switch t := eventType(typ); t {
	case watchcache.Added, watchcache.Modified, watchcache.Deleted:
		s.storage.mu.Lock()
		defer s.storage.mu.Unlock()
		s.storage.drops[t] = count
		return nil
	}
	return fmt.Errorf("drop the next %q event: want ADDED, MODIFIED or DELETED", typ)
}

// drop reports whether watches do not show the change of a version.
func (s *storage) drop(version uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, dropped := s.dropped[version]
	return dropped
}

// Refuse closes the listeners and every connection, so that new connections are refused. If d is
// positive, it ends after d, otherwise with Resume. Until then, requests that come to the handler
// itself are aborted.
func (s *Server) Refuse(d time.Duration) error {
	s.faults.mu.Lock()
	s.faults.refused = true
	s.faults.cancelReopen()
	if d > 0 {
		s.faults.pending.Add(1)
		s.faults.reopen = time.AfterFunc(d, func() {
			defer s.faults.pending.Done()
			_ = s.accept() // if another program has taken the port, its connections stay refused
		})
	}
	s.faults.mu.Unlock()
	var errs []error
	for _, l := range s.allListeners() {
		errs = append(errs, l.shut())
	}
	return errors.Join(errs...)
}

// accept ends Refuse. If another program has taken the port of a listener, that listener stays
// closed until the next call.
func (s *Server) accept() error {
	s.faults.mu.Lock()
	s.faults.refused = false
	s.faults.mu.Unlock()
	var errs []error
	for _, l := range s.allListeners() {
		if err := l.open(); err != nil {
			errs = append(errs, fmt.Errorf("accept connections again at %s: %w", l.URL, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Server) allListeners() []*Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.listeners)) // the order does not matter: all are treated in the same way
}
