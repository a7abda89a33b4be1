package reflector

import "time"

// state is all that the machine knows between two inputs. It is a value: step
// takes one and returns the next.
type state struct {
	*rules
	phase phase
	pace  pace

	anchor

	// unmoved is the version that the last list was asked for at, if it brought no
	// later one.
	unmoved string

	// paged: a list that the watch cache should have answered whole came in
	// pages, so there is no watch cache, and every list is paged from now on.
	paged bool

	// bookmarked: the server has sent a bookmark. bookmarkGap is the time between the
	// last two of one stream; zero before there were two.
	bookmarked  bool
	bookmarkGap time.Duration

	// mute is how long watches in a row have been open without anything coming.
	mute time.Duration

	// outage: the server could not be reached when the watch was asked for last. It
	// may come back as another one, see [state.resumeWatch].
	outage bool

	// incomplete counts the streams in a row whose initial events did not come to an
	// end; and no stream is asked for initial events before listUntil.
	incomplete int
	listUntil  time.Time

	// outrun counts the lists in a row after which the server did not have the version
	// to watch from any more; and lists are not asked for before streamUntil.
	outrun      int
	streamUntil time.Time

	// resyncAt is when the next resync is due. It is zero before the first list,
	// and where there are no resyncs.
	resyncAt time.Time
}

// anchor is what the sink has, in resourceVersions, and so what may be asked for next.
type anchor struct {
	// resume is the resourceVersion up to which the sink has everything, where
	// a watch goes on. It is empty before the first list.
	resume string

	// ahead is the version of the newest object that a Get has brought, if the resume
	// point has not come to it. What is older than this would go back in time.
	ahead string

	// refused: the server could not list at resume, or not watch from what it listed,
	// so the next list asks for the most recent state.
	refused bool
}

// phase is what the machine is doing, with what is only valid while it does.
type phase interface{ name() string }

// listing: a list was asked for and has not come yet.
type listing struct {
	version string // the resourceVersion asked for; "" asks for the most recent
	again   bool   // another list was asked for since
	asked   time.Time
	heard   time.Time
}

// watching: a watch was asked for, and it is open or about to be.
type watching struct {
	version  string // the resourceVersion it was opened at
	asked    time.Time
	deadline time.Time // when the server should long have ended it
	slow     bool      // it is the first after a list that took a while
	open     bool      // the server has answered
	progress bool      // it has delivered something
	heard    time.Time // when anything came last
	bookmark time.Time // when a bookmark came last; zero before the first
}

// streaming: a watch was asked for that begins with the whole state.
type streaming struct {
	watching
	again bool      // a list was asked for since
	live  time.Time // when the first event came that is not of the initial ones; zero before
}

// probing: the server is asked whether it has come to the resume point.
type probing struct{ heard time.Time }

// alive is how long ago the watch was asked for.
func (p watching) alive(now time.Time) time.Duration { return now.Sub(p.asked) }

// waiting: nothing is asked for until a time has come.
type waiting struct {
	until time.Time
	then  next
}

func (listing) name() string   { return "listing" }
func (streaming) name() string { return "streaming" }
func (probing) name() string   { return "probing" }
func (watching) name() string  { return "watching" }
func (waiting) name() string   { return "waiting" }

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
	case watching, probing:
		then = toWatch
	case waiting:
		then = p.then
	case listing:
		s.refused = s.refused || p.again
	case streaming:
		s.refused = s.refused || p.again
	}
	s.phase = waiting{then: then}
	return s
}

// wake returns when the machine wants a tick; zero means never.
func (s state) wake() time.Time {
	at := s.resyncAt
	switch p := s.phase.(type) {
	case listing:
		at = earliest(at, s.impatient(p.heard))
	case probing:
		at = earliest(at, s.impatient(p.heard))
	case watching:
		at = earliest(at, earliest(p.deadline, s.silence(p)))
	case streaming:
		at = earliest(at, p.patience())
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
		return s.tick(now, in)
	case listed:
		if p, ok := s.phase.(listing); ok {
			return s.listed(now, p, in)
		}
	case listFailed:
		if p, ok := s.phase.(listing); ok {
			return s.listFailed(now, p, in.err)
		}
	case probed:
		if _, ok := s.phase.(probing); ok {
			return s.probed(now, in)
		}
	case opened:
		switch p := s.phase.(type) {
		case watching:
			p.open, p.heard = true, now
			s.phase = p
		case streaming:
			p.open, p.heard = true, now
			s.phase = p
		}
	case event:
		switch p := s.phase.(type) {
		case watching:
			return s.event(now, p, in)
		case streaming:
			return s.initialEvent(now, p, in)
		}
	case ended:
		switch p := s.phase.(type) {
		case watching:
			return s.ended(now, p, in.err)
		case streaming:
			return s.streamEnded(now, p, in.err)
		}
	case fetched:
		if older(s.floor(), in.version) {
			s.ahead = in.version
		}
	case listWanted:
		return s.listWanted(now)
	case sinkFailed:
		return s.sinkFailed(now, in)
	}
	return s, nil
}

// tick does what is due. A resync comes last, because it may fail, and nothing that
// follows would be done.
func (s state) tick(now time.Time, in tick) (state, []effect) {
	if !due(now, s.resyncAt) {
		return s.timers(now, in)
	}
	s.resyncAt = now.Add(s.resync)
	s, effects := s.timers(now, in)
	return s, append(effects, resync{})
}

// timers does what the phase was waiting for.
func (s state) timers(now time.Time, in tick) (state, []effect) {
	s = s.hear(in.heard)
	switch p := s.phase.(type) {
	case waiting:
		switch {
		case now.Before(p.until):
		case p.then == toWatch:
			return s.resumeWatch(now)
		default:
			return s.sync(now, nil)
		}
	case listing:
		if due(now, s.impatient(p.heard)) {
			return hungUp(errSilent)(s.listFailed(now, p, errSilent))
		}
	case probing:
		if due(now, s.impatient(p.heard)) {
			return hungUp(errSilent)(s.probed(now, probed{err: errSilent}))
		}
	case streaming:
		if due(now, p.patience()) {
			return hungUp(errIncomplete)(s.doWithoutStream(now, errIncomplete, nil))
		}
	case watching:
		if due(now, p.deadline) {
			return hungUp(errTimedOut)(s.ended(now, p, errTimedOut))
		}
		if due(now, s.silence(p)) {
			return hungUp(errSilent)(s.ended(now, p, errSilent))
		}
	}
	return s, nil
}

// hungUp puts a hangUp before the effects of a transition.
func hungUp(err error) func(state, []effect) (state, []effect) {
	return func(s state, effects []effect) (state, []effect) {
		return s, append([]effect{hangUp{err: err}}, effects...)
	}
}

// due reports whether a time has come; the zero time never does.
func due(now, at time.Time) bool { return !at.IsZero() && !now.Before(at) }

// hear takes note of when the last byte came.
func (s state) hear(at time.Time) state {
	switch p := s.phase.(type) {
	case listing:
		p.heard = latest(p.heard, at)
		s.phase = p
	case probing:
		p.heard = latest(p.heard, at)
		s.phase = p
	case streaming:
		p.heard = latest(p.heard, at)
		s.phase = p
	case watching:
		p.heard = latest(p.heard, at)
		s.phase = p
	}
	return s
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
