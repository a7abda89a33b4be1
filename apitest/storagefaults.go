package apitest

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// metaGroupResource stands where an error of no particular type names one.
var metaGroupResource = schema.GroupResource{}

// tooOld is the ERROR event of a watch that starts before the window (watch-rv-too-old.http).
func tooOld(rv, floor uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", rv, floor))
}

// Compact empties the window and forgets every superseded state: a watch or an exact list at an earlier version, and a
// continue token from one, get a 410. Watches that are open go on.
func (s *Server) Compact() {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	s.storage.compact()
	for _, t := range s.storage.tables { // each by itself: the order does not matter
		t.floor = s.storage.rv
	}
}

// ExpireContinue makes every continue token given out so far expire. The 410 that it gets carries another token, which
// goes on without a snapshot. The counter moves on by one, so that lists from now on give tokens that work.
func (s *Server) ExpireContinue() {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	s.storage.tokens = s.storage.rv
	s.storage.rv++
	s.storage.commits.add(time.Now())
	s.storage.wake()
}

// DropEvent makes the watches of every replica miss the next changes of that type: "ADDED", "MODIFIED" or "DELETED".
// Lists show them. No client can notice by the protocol.
func (s *Server) DropEvent(typ string, count int) error {
	switch t := eventType(typ); t {
	case added, modified, deleted:
		s.storage.mu.Lock()
		defer s.storage.mu.Unlock()
		s.storage.drops[t] = count
		return nil
	}
	return fmt.Errorf("drop the next %q event: want ADDED, MODIFIED or DELETED", typ)
}

// RestoreBackup takes the storage back to the state at an earlier version, as restoring etcd from a backup does. The
// counter goes back too and will give the same numbers to other changes. Every watch is ended, every replica starts anew.
// It fails if the version lies in the future or was compacted.
func (s *Server) RestoreBackup(resourceVersion string) error {
	rv, err := parseRV(resourceVersion)
	if err != nil {
		return fmt.Errorf("restore a backup: %w", err)
	}
	s.mu.Lock()
	replicas := make([]*Replica, 0, len(s.replicas))
	for _, r := range s.replicas { // all are reset: the order does not matter
		replicas = append(replicas, r)
	}
	s.mu.Unlock()

	st := s.storage
	st.mu.Lock()
	if rv < st.compacted || rv > st.rv {
		have, oldest := st.rv, st.compacted
		st.mu.Unlock()
		return fmt.Errorf("restore the backup at resource version %d: only %d to %d are kept", rv, oldest, have)
	}
	st.restore(rv)
	for _, r := range replicas {
		r.born, r.frozen = rv, nil
	}
	st.mu.Unlock()
	s.EndWatches()
	return nil
}

// Refuse closes the listeners and every connection, so that new ones are refused. With d above zero it lasts that long,
// else until Resume. Requests to the handler itself are aborted meanwhile.
func (s *Server) Refuse(d time.Duration) error {
	s.faults.mu.Lock()
	s.faults.refused = true
	s.faults.cancelReopen()
	if d > 0 {
		s.faults.pending.Add(1)
		s.faults.reopen = time.AfterFunc(d, func() {
			defer s.faults.pending.Done()
			_ = s.accept() // a port that was taken meanwhile stays refused
		})
	}
	s.faults.mu.Unlock()
	var first error
	for _, l := range s.allListeners() {
		if err := l.shut(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// accept ends Refuse. A listener whose port is taken goes on refusing until the next call.
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
	all := make([]*Listener, 0, len(s.listeners))
	for l := range s.listeners { // all get the same: the order does not matter
		all = append(all, l)
	}
	return all
}
