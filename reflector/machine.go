package reflector

import (
	"errors"
	"time"

	"github.com/relist-go/relist/listwatch"
)

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

// list asks for a list at the version that was last applied, so that the answer
// can come from the server's watch cache and cannot be older than what the sink
// holds. A first list takes any version the server has at hand.
//
// resourceVersionMatch is left out: a resourceVersion alone means "not older
// than". Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func (s state) list(effects []effect) (state, []effect) {
	version := s.resume
	if version == "" {
		version = "0"
	}
	if s.refused {
		version = ""
	}
	s.phase = listing{version: version}
	return s, append(effects, list{version: version, limit: s.limit(version)})
}

// limit is the page size of a list at version.
//
// A list at a given version is not paged unless that is asked for, because a
// limit used to send it past the watch cache to etcd. One at "0" carries a limit
// for servers without a watch cache, and "" goes to etcd in any case.
func (s state) limit(version string) int64 {
	switch {
	case s.pageSize != 0:
		return max(s.pageSize, 0)
	case s.paged, version == "", version == "0":
		return defaultPageSize
	}
	return 0
}

const defaultPageSize = 500

// listed gives the list to the sink and watches from it on.
func (s state) listed(now time.Time, p listing, in listed) (state, []effect) {
	var effects []effect
	if _, err := advance(s.resume, in.version); err != nil && s.resume != "" || in.version == "" {
		if p.version != "" && errors.Is(err, errOlder) {
			return s.wentBack(err)
		}
		effects = append(effects, problem{class: VersionProblem, err: err})
	}
	effects = append(effects, replace{version: in.version})
	s.resume = in.version
	s.refused = false
	s.paged = s.paged || p.version == "0" && in.pages > 1
	if s.resyncAt.IsZero() && s.resync > 0 {
		s.resyncAt = now.Add(s.resync)
	}
	if p.again {
		s.refused = true
		return s.list(effects)
	}
	return s.watch(now, effects)
}

// wentBack does not take a list that is older than it was asked to be. Only the most
// recent state can say that the server's storage went back, as after the restoration of
// a backup: then that is what there is, and the sink is told all that it changes.
func (s state) wentBack(err error) (state, []effect) {
	s.refused = true
	return s.list([]effect{
		refuse{err: err},
		problem{class: VersionProblem, err: err},
		relist{reason: WentBack, err: err},
	})
}

// listWanted lists the most recent state: whoever asks may know of a change that the
// server's watch cache has not seen. A list in progress is followed by another, for
// it may have begun before that change.
func (s state) listWanted() (state, []effect) {
	if p, ok := s.phase.(listing); ok {
		p.again = true
		s.phase = p
		return s, nil
	}
	s.refused = true
	return s.list([]effect{hangUp{err: errAsked}, relist{reason: Asked, err: errAsked}})
}

// listFailed asks at once for the most recent state when the version asked for
// is gone or has not arrived, and tries again after a pause otherwise. A version
// that was refused is not asked for again.
func (s state) listFailed(now time.Time, p listing, err error) (state, []effect) {
	reason := requestReason(err)
	if reason == Expired || reason == TooLarge {
		s.refused = true
		if p.version != "" {
			return s.list([]effect{relist{reason: reason, err: err}})
		}
	}
	return s.wait(now, toList, reason, err, []effect{problem{class: ListProblem, err: err}})
}

// margin is what a server is given beyond the timeout it was asked for before
// its silence counts as death. Without a timer here, a half-open connection
// holds a watch for as long as the kernel likes.
const margin = 10 * time.Second

// watch opens a stream at the resume point. Bookmarks keep the resume point in
// the server's window while nothing changes, and the timeout spreads evenly
// over [minTimeout, 2 minTimeout) so that a fleet does not return as one.
func (s state) watch(now time.Time, effects []effect) (state, []effect) {
	timeout := s.minTimeout + time.Duration(s.rand()*float64(s.minTimeout))
	timeout = max(timeout.Truncate(time.Second), time.Second)
	s.phase = watching{version: s.resume, asked: now, deadline: now.Add(timeout + margin)}
	return s, append(effects, watch{version: s.resume, timeout: timeout})
}

// event applies one event and moves the resume point past it. One that is older than
// the resume point is applied only if it is news for its object all the same.
func (s state) event(p watching, in event) (state, []effect) {
	p.progress = true
	s.phase = p
	if in.withheld && in.version == "" {
		return s, nil // it cannot be read at all; that was reported
	}
	resume, err := advance(s.resume, in.version)
	var effects []effect
	switch {
	case in.typ == listwatch.Bookmark && err == nil:
		effects = append(effects, bookmark{version: resume})
	case in.typ == listwatch.Bookmark, in.withheld:
	case errors.Is(err, errOlder) && !in.news:
		// It would bring back what has changed since, or has been deleted.
	default:
		effects = append(effects, apply{})
	}
	if err != nil {
		return s, append(effects, problem{class: VersionProblem, err: err})
	}
	if !unanchored(s.resume) || in.typ != listwatch.Added {
		// The initial events of a watch without a version come in no order.
		s.resume = resume
	}
	return s, effects
}

// ended decides between opening the watch again where it stopped, which sends
// no object twice, and listing.
func (s state) ended(now time.Time, p watching, err error) (state, []effect) {
	reason := classify(err)
	if !p.open {
		reason = requestReason(err)
	}
	s.pace = s.pace.after(p, now)
	if unanchored(p.version) {
		return s.relist(now, Unanchored, err)
	}
	switch reason {
	case Expired, TooLarge:
		return s.relist(now, reason, err)
	case Failed, Malformed:
		effects := []effect{problem{class: WatchProblem, err: err}}
		s.pace.failures++
		if s.pace.failures < maxFailures {
			return s.wait(now, toWatch, reason, err, effects)
		}
		s.pace.failures = 0
		next, more := s.relist(now, reason, err)
		return next, append(effects, more...)
	case Denied:
		return s.wait(now, toWatch, reason, err, []effect{problem{class: WatchProblem, err: err}})
	case Closed, Cut, TimedOut:
		return s.dropped(now, p, reason, err)
	default: // Unreachable, Unavailable, Throttled
		return s.wait(now, toWatch, reason, err, nil)
	}
}

// dropped follows a stream that was open and then ended without saying why.
func (s state) dropped(now time.Time, p watching, reason Reason, err error) (state, []effect) {
	switch {
	case p.alive(now) >= healthy:
		return s.watch(now, nil)
	case p.progress && !s.pace.reconnected:
		s.pace.reconnected = true
		return s.watch(now, nil)
	case p.progress:
		return s.wait(now, toWatch, reason, err, nil)
	}
	if p.alive(now) < short {
		s.pace.empties++
	}
	if s.pace.empties >= maxEmpties {
		s.pace.empties = 0
		return s.relist(now, Empty, err)
	}
	return s.wait(now, toWatch, reason, err, nil)
}

// relist gives the resume point up, after a pause.
func (s state) relist(now time.Time, reason Reason, err error) (state, []effect) {
	return s.wait(now, toList, reason, err, []effect{relist{reason: reason, err: err}})
}

// sinkFailed lists again, because the sink lacks something that will not be
// sent a second time.
func (s state) sinkFailed(now time.Time, err error) (state, []effect) {
	if p, ok := s.phase.(watching); ok {
		s.pace = s.pace.after(p, now)
	}
	next, more := s.relist(now, SinkFailed, err)
	return next, append([]effect{problem{class: SinkProblem, err: err}, hangUp{err: err}}, more...)
}

func (s state) wait(now time.Time, then next, reason Reason, err error, effects []effect) (state, []effect) {
	delay := s.pace.next(s.rules, err)
	s.phase = waiting{until: now.Add(delay), then: then}
	return s, append(effects, backoff{delay: delay, reason: reason, err: err})
}

// requestReason is the reason for a request that had no answer: what would have
// cut a stream has kept it from opening.
func requestReason(err error) Reason {
	reason := classify(err)
	if reason == Cut || reason == Closed {
		return Unreachable
	}
	return reason
}
