package reflector

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relist-go/relist/listwatch"
)

// State is what a reflector is doing.
type State uint8

// The states of a reflector.
const (
	// Stopped: Run has not been called, or has returned.
	Stopped State = iota
	// Listing: the whole state was asked for, by list or as the start of a watch.
	Listing
	// Opening: a watch was asked for, and the server has not answered; or it is asked
	// whether it has the version to watch from.
	Opening
	// Watching: a watch is open. The copy is as fresh as the server's events.
	Watching
	// Waiting: nothing will be asked for until [Status.NextRetry].
	Waiting
)

var stateWords = [...]string{Stopped: "stopped", Listing: "listing", Opening: "opening", Watching: "watching", Waiting: "waiting"}

// String returns the state as one word.
func (s State) String() string {
	if int(s) >= len(stateWords) {
		return "unknown"
	}
	return stateWords[s]
}

// Status says how fresh the copy is, and what keeps it from being fresher. Times
// are zero for what has not happened.
type Status struct {
	State State
	Since time.Time // when State was entered

	// Synced: the sink has had a whole list.
	Synced bool

	// ResourceVersion is the resume point: up to it the sink has everything.
	ResourceVersion string

	// LastByte, LastEvent and LastBookmark are when the server last sent anything
	// at all, an event, and a bookmark. LastByte is known where the requests go
	// through package transport.
	LastByte, LastEvent, LastBookmark time.Time

	// FailingSince is when the first request failed after which no watch has been
	// open. It is zero while a watch is. One that fails within 10 seconds and has brought
	// nothing, as where the server says only then that the version is gone, counts as
	// if it had not been.
	FailingSince time.Time

	// LastError is the last failure, also when it is long over, and LastErrorTime
	// when it was. A watch that ends in good order is no failure.
	LastError     error
	LastErrorTime time.Time

	// NextRetry is when the wait is over, in the state Waiting.
	NextRetry time.Time

	// Quarantined are the objects of which the sink lacks the present version, by
	// key. Do not change the slice.
	Quarantined []Quarantined
}

// Heard returns when the server last gave a sign of life: it sent something, or it
// accepted the watch that is open.
func (s Status) Heard() time.Time {
	signs := []time.Time{s.LastByte, s.LastEvent, s.LastBookmark}
	if s.State == Watching {
		signs = append(signs, s.Since)
	}
	return slices.MaxFunc(signs, time.Time.Compare)
}

// Staleness returns how long ago the copy was last known to be whole: since when
// nothing has been heard, or since when no watch has been open, whichever is longer
// ago. Between two bookmarks of an idle watch, which are a minute apart as a rule,
// it grows to that minute. Before anything was heard it is the longest Duration.
func (s Status) Staleness(now time.Time) time.Duration {
	heard := s.Heard()
	if !s.FailingSince.IsZero() && s.FailingSince.Before(heard) {
		heard = s.FailingSince
	}
	return now.Sub(heard)
}

// Status returns the status at this moment. It may be called from any goroutine,
// but not from a function of [Trace].
func (r *Reflector[T]) Status() Status {
	r.board.mu.Lock()
	defer r.board.mu.Unlock()
	status := r.board.status
	status.LastByte = r.board.lastHeard()
	return status
}

// board is where a Run writes down how it stands, for others to read and wait on.
type board struct {
	lastByte atomic.Int64 // Unix nanoseconds; written by the goroutine that reads

	mu      sync.Mutex
	status  Status
	doubt   doubt         // about the watch that is open, or was
	wanted  int           // calls of Relist
	served  int           // of these, how many have their list
	changed chan struct{} // closed at the next change; nil while nobody waits
}

// doubt is whether a watch that the server has accepted after a failure is worth
// anything. It is zero once the watch has brought something.
type doubt struct {
	since  time.Time // FailingSince before the watch was open
	opened time.Time
}

// failing returns since when requests have been failing, if one fails now and none was
// failing.
func (d doubt) failing(now time.Time) time.Time {
	if d.since.IsZero() || now.Sub(d.opened) >= healthy {
		return now
	}
	return d.since
}

// lastHeard returns when the last byte came; zero before the first.
func (b *board) lastHeard() time.Time {
	if at := b.lastByte.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

func (b *board) heard(int) { b.lastByte.Store(time.Now().UnixNano()) }

// update changes the status and wakes who waits for that.
func (b *board) update(f func(*Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.status)
	b.wake()
}

// wake needs mu.
func (b *board) wake() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// change returns a channel that is closed at the next change. It needs mu.
func (b *board) change() <-chan struct{} {
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// follow brings the status up to date with the machine.
func (b *board) follow(s state) {
	b.update(func(status *Status) {
		was := status.State
		status.ResourceVersion = s.resume
		status.NextRetry = time.Time{}
		switch p := s.phase.(type) {
		case listing, streaming:
			status.State = Listing
		case probing:
			status.State = Opening
		case watching:
			status.State = Opening
			if p.open {
				status.State = Watching
				if !status.FailingSince.IsZero() {
					b.doubt = doubt{since: status.FailingSince, opened: p.heard}
					status.FailingSince = time.Time{}
				}
			}
			if p.progress {
				b.doubt = doubt{}
			}
		case waiting:
			status.State = Waiting
			status.NextRetry = p.until
		}
		if status.State != was {
			status.Since = time.Now()
		}
	})
}

// event takes note of one.
func (b *board) event(typ listwatch.Type, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if typ == listwatch.Bookmark {
		b.status.LastBookmark = now
	} else {
		b.status.LastEvent = now
	}
}

// serving returns how many calls of Relist a list satisfies that is asked for now at
// a version: all so far if it is the most recent state, else none.
func (b *board) serving(version string) int {
	if version != "" {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wanted
}

// listApplied takes note that the sink has a list that satisfies so many calls of
// Relist. It reports whether that is the first list.
func (b *board) listApplied(served int) (first bool) {
	b.update(func(status *Status) {
		b.served = max(b.served, served)
		first = !status.Synced
		status.Synced = true
	})
	return first
}

// stopped takes note that Run returns.
func (b *board) stopped(now time.Time) {
	b.update(func(status *Status) {
		status.State, status.Since, status.NextRetry = Stopped, now, time.Time{}
	})
}

// quarantined takes note of who is in quarantine.
func (b *board) quarantined(all []Quarantined) {
	b.update(func(status *Status) { status.Quarantined = all })
}

// failed takes note of a failure, and returns since when there have been failures.
func (b *board) failed(err error, now time.Time) (since time.Time) {
	b.update(func(status *Status) {
		status.LastError, status.LastErrorTime = err, now
		if status.FailingSince.IsZero() {
			status.FailingSince, b.doubt = b.doubt.failing(now), doubt{}
		}
		since = status.FailingSince
	})
	return since
}
