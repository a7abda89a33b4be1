package protocol

import "time"

// phase is what the machine is doing, with the fields that are valid only then. Only these
// functions assign it: becomeListing, becomeStreaming, becomeWatching, streamComplete (which
// continues with an open stream) and waitUntil. becomeWaiting draws a delay, and calls waitUntil.
type phase interface {
	// hear says when the last byte of the request came.
	hear(at time.Time)
}

// waiting: nothing is asked for until a time has come.
type waiting struct {
	until time.Time
	then  next
}

// next is what follows a wait.
type next uint8

const (
	toList next = iota + 1
	toWatch
)

// listing: a list was asked for, and the answer has not come yet.
type listing struct {
	version       string // the resourceVersion asked for; "" asks for the most recent
	anotherWanted bool   // another list was asked for since
	ticket        int    // the ticket of the newest call that this list satisfies; 0 for none
	asked         time.Time
	heard         time.Time
}

// streaming: a watch with initial events was asked for, and the whole state has not come yet.
type streaming struct {
	version       string // the resourceVersion asked for; "" asks for the most recent
	anotherWanted bool   // a list was asked for since
	ticket        int    // as in listing
	asked         time.Time
	heard         time.Time
	deadline      time.Time
	timeout       time.Duration
	open          bool      // the server has answered
	otherEventAt  time.Time // when the first event came that is no initial event; zero if none has
}

// watching: a watch was asked for. It is open, or the server has not answered yet.
type watching struct {
	version       string     // the resourceVersion it was opened at
	repeats       repetition // what it has to repeat first, see history.go
	asked         time.Time
	heard         time.Time     // when anything came last
	deadline      time.Time     // when to give it up, because the server has not ended it; zero for never
	timeout       time.Duration // what the server was asked for; 0 for the server's own
	afterLongList bool          // it is the first after a list that took a while
	open          bool          // the server has answered
	progress      bool          // it has delivered something
	bookmark      time.Time     // when a bookmark came last; zero before the first
	idleLimit     time.Duration // how long it may be idle before its first bookmark
}

// alive is how long ago the watch was asked for.
func (p *watching) alive(now time.Time) time.Duration { return now.Sub(p.asked) }

// lasted reports whether the watch has lived long enough to count as healthy, or until its timeout.
func (p *watching) lasted(now time.Time) bool {
	return p.alive(now) >= healthy || p.timeout > 0 && p.alive(now) >= p.timeout
}

// empty reports whether the watch, which ends now, was short and has delivered nothing.
func (p *watching) empty(now time.Time) bool {
	return !p.progress && !p.repeats.begun && p.alive(now) < short
}

func (*waiting) hear(time.Time)        {}
func (p *listing) hear(at time.Time)   { p.heard = latest(p.heard, at) }
func (p *streaming) hear(at time.Time) { p.heard = latest(p.heard, at) }
func (p *watching) hear(at time.Time)  { p.heard = latest(p.heard, at) }
