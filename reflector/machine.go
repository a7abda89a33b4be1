package reflector

import "time"

// state is all that the machine knows between two inputs. It is a value: step
// takes one and returns the next.
type state struct {
	*rules
	phase phase
	pace  pace

	// resume is the resourceVersion up to which the sink has everything, where
	// a watch goes on. It is empty before the first list.
	resume string

	// refused: the server could not list at resume, so the next list asks for
	// the most recent state.
	refused bool

	// paged: a list that the watch cache should have answered whole came in
	// pages, so there is no watch cache, and every list is paged from now on.
	paged bool

	// resyncAt is when the next resync is due. It is zero before the first list,
	// and where there are no resyncs.
	resyncAt time.Time
}

// phase is what the machine is doing, with what is only valid while it does.
type phase interface{ name() string }

// listing: a list was asked for and has not come yet.
type listing struct {
	version string // the resourceVersion asked for; "" asks for the most recent
	again   bool   // another list was asked for since
}

// watching: a watch was asked for, and it is open or about to be.
type watching struct {
	version  string // the resourceVersion it was opened at
	asked    time.Time
	deadline time.Time // when the server should long have ended it
	open     bool      // the server has answered
	progress bool      // it has delivered something
}

// alive is how long ago the watch was asked for.
func (p watching) alive(now time.Time) time.Duration { return now.Sub(p.asked) }

// waiting: nothing is asked for until a time has come.
type waiting struct {
	until time.Time
	then  next
}

func (listing) name() string  { return "listing" }
func (watching) name() string { return "watching" }
func (waiting) name() string  { return "waiting" }

// next is what follows a wait.
type next uint8

const (
	toList next = iota + 1
	toWatch
)

// newState returns a machine that lists at its first tick.
func newState(r *rules) state {
	return state{rules: r, phase: waiting{then: toList}}
}

// suspended returns the machine as it goes on after a stop: at its next tick it
// opens the watch that it had, or was about to have, or else it lists.
func (s state) suspended() state {
	then := toList
	switch p := s.phase.(type) {
	case watching:
		then = toWatch
	case waiting:
		then = p.then
	}
	s.phase = waiting{then: then}
	return s
}

// wake returns when the machine wants a tick; zero means never.
func (s state) wake() time.Time {
	at := s.resyncAt
	switch p := s.phase.(type) {
	case watching:
		at = earliest(at, p.deadline)
	case waiting:
		at = earliest(at, p.until)
	}
	return at
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// step takes one input and returns the next state and the effects to perform on
// the way, in order. It does no I/O, starts no goroutine and reads no clock.
//
// An input that the phase has no use for changes nothing: it comes from a
// request that the machine has given up.
func step(s state, now time.Time, in input) (state, []effect) {
	switch in := in.(type) {
	case tick:
		return s.tick(now)
	case listed:
		if p, ok := s.phase.(listing); ok {
			return s.listed(now, p, in)
		}
	case listFailed:
		if p, ok := s.phase.(listing); ok {
			return s.listFailed(now, p, in.err)
		}
	case opened:
		if p, ok := s.phase.(watching); ok {
			p.open = true
			s.phase = p
		}
	case event:
		if p, ok := s.phase.(watching); ok {
			return s.event(p, in)
		}
	case ended:
		if p, ok := s.phase.(watching); ok {
			return s.ended(now, p, in.err)
		}
	case listWanted:
		return s.listWanted()
	case sinkFailed:
		return s.sinkFailed(now, in.err)
	}
	return s, nil
}

// tick does what is due.
func (s state) tick(now time.Time) (state, []effect) {
	var effects []effect
	if !s.resyncAt.IsZero() && !now.Before(s.resyncAt) {
		s.resyncAt = now.Add(s.resync)
		effects = append(effects, resync{})
	}
	switch p := s.phase.(type) {
	case waiting:
		if now.Before(p.until) {
			break
		}
		if p.then == toWatch {
			return s.watch(now, effects)
		}
		return s.list(effects)
	case watching:
		if now.Before(p.deadline) {
			break
		}
		effects = append(effects, hangUp{err: errTimedOut})
		next, more := s.ended(now, p, errTimedOut)
		return next, append(effects, more...)
	}
	return s, effects
}
