package reflector

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/protocol"
)

// State says what a reflector is doing.
type State = protocol.State

// The states of a reflector.
const (
	// Stopped: Run has not been called, or has returned.
	Stopped State = 0

	Listing  = protocol.Listing
	Opening  = protocol.Opening
	Watching = protocol.Watching
	Waiting  = protocol.Waiting
)

// Status says how fresh the copy is, and what keeps it from being fresher. If something has
// not happened yet, its time is zero.
type Status struct {
	State State
	Since time.Time // when State was entered

	// Synced: the sink has had a whole list, or the copy of [Options.Start] was resumed.
	Synced bool

	// ResourceVersion is the resume version: the sink has everything up to this version,
	// except the objects in quarantine.
	ResourceVersion string

	// Started is when Run was called first.
	Started time.Time

	// StartCurrent is the Current of [Options.Start]: when that copy was last known to be up to
	// date.
	StartCurrent time.Time

	// LastByte, LastEvent and LastBookmark are the times at which the server last sent
	// any byte, an event, and a bookmark. LastByte is zero if the requests do not go
	// through package transport.
	LastByte, LastEvent, LastBookmark time.Time

	// WatchedUntil is when the server was last heard while a watch was open. While one is open, and
	// before the first, it is zero. A watch that fails as FailingSince says does not count.
	WatchedUntil time.Time

	// FailingSince is when requests began to fail: no watch has been open since. While a
	// watch is open, it is zero. If that watch fails within 10 seconds, and has brought
	// neither an event nor a bookmark, FailingSince gets back the time that it had
	// before the watch.
	FailingSince time.Time

	// LastError is the last failure, even if it is long over, and LastErrorTime is its
	// time. A watch that ends cleanly is not a failure.
	LastError     error
	LastErrorTime time.Time

	// NextRetry is when the state Waiting ends. It is zero in other states.
	NextRetry time.Time

	// Quarantined are the objects whose latest version the sink may lack, sorted by key,
	// 1,000 of them at most. Do not change the slice. MoreQuarantined counts the objects
	// for which Quarantined has no room; one object may count several times. The
	// reflector does not ask the server for these one by one. It lists.
	Quarantined     []Quarantined
	MoreQuarantined int
}

// Quarantined is an object whose latest version the sink may lack.
type Quarantined = protocol.Quarantined

// OutageError is the error that [Options.Fatal] is called with. If Fatal returns true, Run
// returns it.
type OutageError struct {
	// Since is when requests began to fail: no watch has been open since.
	Since time.Time

	// Err is the failure at hand.
	Err error
}

func (e *OutageError) Error() string {
	return fmt.Sprintf("failing since %s: %v", e.Since.Format(time.RFC3339), e.Err)
}

// Unwrap returns the failure.
func (e *OutageError) Unwrap() error { return e.Err }

// Failing returns since when requests have failed, and the last failure. If they do not fail, err
// is nil and since is zero: a watch is open, or nothing has failed yet. If a watch breaks and is
// opened again immediately, Failing returns an error for a moment, too. So a program should alert
// only if since is some time ago. Objects in quarantine are no failure: see [Status.Quarantined].
func (s Status) Failing() (since time.Time, err error) {
	if s.FailingSince.IsZero() {
		return time.Time{}, nil
	}
	return s.FailingSince, s.LastError
}

// Heard returns when the server last sent anything, or accepted the watch that is open.
func (s Status) Heard() time.Time {
	signs := []time.Time{s.LastByte, s.LastEvent, s.LastBookmark}
	if s.State == Watching {
		signs = append(signs, s.Since)
	}
	return slices.MaxFunc(signs, time.Time.Compare)
}

// Staleness returns how long ago the copy was last known to be up to date: the time since
// the server last sent something while a watch was open. An idle watch gets a bookmark
// about once a minute, so the staleness of an idle watch grows up to a minute. While no
// watch is open, it grows even if nothing fails and a list arrives: it is not known yet what
// the list will change. A watch that fails as [Status.FailingSince] says does not count.
//
// Until the sink has a whole list and a watch was open, the staleness is the time since
// StartCurrent, or since the first call of Run if that is zero or in the future. Before that
// call it is zero.
func (s Status) Staleness(now time.Time) time.Duration {
	start, current := s.Started, s.WatchedUntil
	if at := s.StartCurrent; !at.IsZero() && (start.IsZero() || at.Before(start)) { // else the clock was set back since
		start = at
	}
	switch {
	case start.IsZero():
		return 0
	case s.Synced && s.State == Watching:
		current = s.Heard()
	case !s.Synced || current.IsZero():
		current = start
	}
	if !s.FailingSince.IsZero() && s.FailingSince.Before(current) {
		current = s.FailingSince
	}
	return max(0, now.Sub(current))
}

// Status returns the status at this moment. It may be called from any goroutine,
// but not from a function of [Trace].
func (r *Reflector[T]) Status() Status {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	status := r.shared.status
	status.LastByte = r.shared.lastByte.at()
	return status
}

// shared is the status that Run writes and that other goroutines read and wait on.
type shared struct {
	lastByte lastRead // of all requests; its start is status.Started

	mu      sync.Mutex
	status  Status
	machine protocol.Status
	changes int           // of the quarantine, see protocol.Machine.QuarantineChanges
	tickets int           // calls of Relist
	changed chan struct{} // closed at the next change; nil while no caller waits

	watchedBefore time.Time // WatchedUntil when the present watch was opened
}

// update changes the status, and wakes the calls of await.
func (s *shared) update(f func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.status)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// change returns a channel that is closed at the next change. It needs mu.
func (s *shared) change() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// follow brings the status up to date with the machine.
func (s *shared) follow(m *protocol.Machine, now time.Time) {
	s.update(func(status *Status) {
		s.machine = m.Status()
		if state := s.machine.State; state != status.State {
			s.enter(state, now)
		}
		status.ResourceVersion = s.machine.Resume
		status.Synced = s.machine.Synced
		status.FailingSince = s.machine.Failing
		status.NextRetry = s.machine.NextRetry
		if changes := m.QuarantineChanges(); changes != s.changes {
			s.changes = changes
			status.Quarantined, status.MoreQuarantined = m.Quarantine()
		}
	})
}

// event notes when an event came.
func (s *shared) event(typ object.EventType, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if typ == object.Bookmark {
		s.status.LastBookmark = now
	} else {
		s.status.LastEvent = now
	}
}

// started notes that Run was called. stopped notes that Run returns.
func (s *shared) started(now time.Time) {
	s.update(func(status *Status) {
		if status.Started.IsZero() {
			status.Started, s.lastByte.start = now, now
		}
	})
}

func (s *shared) stopped(now time.Time) {
	s.update(func(status *Status) {
		s.enter(Stopped, now)
		status.NextRetry = time.Time{}
	})
}

// enter changes the state, and notes until when a watch was open and heard. It needs mu.
func (s *shared) enter(state State, now time.Time) {
	status := &s.status
	switch {
	case state == Watching:
		s.watchedBefore, status.WatchedUntil = status.WatchedUntil, time.Time{}
		if status.State != Opening {
			s.watchedBefore = now // a stream, which has brought its initial events
		}
	case status.State == Watching && !s.machine.Failing.IsZero() && s.broughtNothing(now):
		status.WatchedUntil = s.watchedBefore
	case status.State == Watching:
		last := *status
		last.LastByte = s.lastByte.at()
		status.WatchedUntil = last.Heard()
	}
	status.State, status.Since = state, now
}

// broughtNothing reports whether the watch may be one of an expired version: kube-apiserver accepts
// it, and then says that the version is gone. It needs mu.
func (s *shared) broughtNothing(now time.Time) bool {
	since := s.status.Since
	return now.Sub(since) < 10*time.Second && s.status.LastEvent.Before(since) && s.status.LastBookmark.Before(since)
}

// current returns when the copy was last known to be up to date, for another process. A watch that
// has brought nothing does not count, because this process may not see how it ends.
func (s *shared) current(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.LastByte = s.lastByte.at()
	if status.State == Watching && s.broughtNothing(now) {
		status.State, status.WatchedUntil = Opening, s.watchedBefore
	}
	return now.Add(-status.Staleness(now)).Round(0) // by the wall clock
}

// failing notes a failure.
func (s *shared) failing(err error, now time.Time) {
	s.update(func(status *Status) { status.LastError, status.LastErrorTime = err, now })
}
