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

	// bookmarkGap is the time between the last two bookmarks of one stream; zero
	// before the server has sent two.
	bookmarkGap time.Duration

	// incomplete counts the streams in a row whose initial events did not come to an
	// end; and no stream is asked for initial events before listUntil.
	incomplete int
	listUntil  time.Time

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
	heard    time.Time // when anything came last
	bookmark time.Time // when a bookmark came last; zero before the first
}

// streaming: a watch was asked for that begins with the whole state.
type streaming struct {
	watching
	again bool // a list was asked for since
}

// probing: the server is asked whether it has come to the resume point.
type probing struct{}

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
	}
	s.phase = waiting{then: then}
	return s
}

// wake returns when the machine wants a tick; zero means never.
func (s state) wake() time.Time {
	at := s.resyncAt
	switch p := s.phase.(type) {
	case watching:
		at = earliest(at, earliest(p.deadline, s.silence(p)))
	case streaming:
		at = earliest(at, p.heard.Add(maxPause))
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
	case listWanted:
		return s.listWanted(now)
	case sinkFailed:
		return s.sinkFailed(now, in.err)
	}
	return s, nil
}

// tick does what is due.
func (s state) tick(now time.Time, in tick) (state, []effect) {
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
		return s.sync(now, effects)
	case watching:
		if in.heard.After(p.heard) {
			p.heard = in.heard
			s.phase = p
		}
		silence := s.silence(p)
		switch {
		case !now.Before(p.deadline):
			return s.giveUp(now, p, errTimedOut, effects)
		case !silence.IsZero() && !now.Before(silence):
			return s.giveUp(now, p, errSilent, effects)
		}
	case streaming:
		if in.heard.After(p.heard) {
			p.heard = in.heard
			s.phase = p
		}
		if now.Before(p.heard.Add(maxPause)) {
			break
		}
		return s.doWithoutStream(now, errIncomplete, append(effects, hangUp{err: errIncomplete}))
	}
	return s, effects
}
