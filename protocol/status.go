package protocol

import (
	"time"

	"github.com/relist-go/relist/object"
)

// Status describes the machine, for users of the reflector.
type Status struct {
	State State

	Resume string // the resume version

	NextRetry time.Time // when the wait is over; zero in other states
	Failing   time.Time // when requests began to fail; zero while a watch is open
	Synced    bool
	Served    int // the newest ticket of [ListWanted] whose list the sink has
}

// State is what a machine is doing.
type State uint8

// The states.
const (
	Listing  State = iota + 1 // the whole state was asked for, by a list or as the start of a watch
	Opening                   // a watch was asked for, and the server has not answered
	Watching                  // a watch is open, so the copy is as fresh as the server's events
	Waiting                   // nothing is asked for until Status.NextRetry
)

var stateWords = [...]string{0: "stopped", Listing: "listing", Opening: "opening", Watching: "watching", Waiting: "waiting"}

// String returns the state as one word; "stopped" for zero.
func (s State) String() string {
	if int(s) >= len(stateWords) {
		return "unknown"
	}
	return stateWords[s]
}

// Status returns a description of the machine as it is now.
func (m *Machine) Status() Status {
	s := Status{Resume: m.resume, Failing: m.health.failing, Synced: m.synced, Served: m.servedTicket}
	switch p := m.phase.(type) {
	case *listing, *streaming:
		s.State = Listing
	case *watching:
		s.State = Opening
		if p.open {
			s.State = Watching
		}
	case *waiting:
		s.State, s.NextRetry = Waiting, p.until
	}
	return s
}

// Reached reports whether the resume version is known to have come to a version.
func (s Status) Reached(version string) bool {
	return object.IsComparable(s.Resume) && object.IsComparable(version) && !object.Older(s.Resume, version)
}

// Resume returns the resume version.
func (m *Machine) Resume() string { return m.resume }
