package reflector

import (
	"errors"
	"time"

	"github.com/relist-go/relist/listwatch"
)

// margin is what a server is given beyond the timeout it was asked for before
// its silence counts as death. Without a timer here, a half-open connection
// holds a watch for as long as the kernel likes.
const margin = 10 * time.Second

// watch opens a stream at the resume point. Bookmarks keep the resume point in
// the server's window while nothing changes, and the timeout spreads evenly
// over [minTimeout, 2 minTimeout) so that a fleet does not return as one.
func (s state) watch(now time.Time, effects []effect) (state, []effect) {
	timeout := s.timeout()
	s.phase = watching{version: s.resume, asked: now, heard: now, deadline: deadline(now, timeout)}
	return s, append(effects, watch{version: s.resume, timeout: timeout})
}

// resumeWatch opens the watch again after a wait. A server that was down may have been
// restored from a backup meanwhile, and not have come to the resume point: a watch would
// be silent until it has, and then go on as if nothing had happened. So it is asked.
func (s state) resumeWatch(now time.Time) (state, []effect) {
	if s.outage && !unanchored(s.resume) {
		return s.probe(now)
	}
	return s.watch(now, nil)
}

// probe asks at which version the server is. The most recent state is asked for, with
// one object of it: a replica that lags is no reason to be alarmed, the storage is. The
// object tells something too, see [driver.otherHistory].
func (s state) probe(now time.Time) (state, []effect) {
	s.phase, s.mute = probing{heard: now}, 0
	return s, []effect{probe{}}
}

// timeout is what the server is asked to keep a watch open; zero leaves it to the
// server.
func (s state) timeout() time.Duration {
	if s.minTimeout == 0 {
		return 0
	}
	timeout := s.minTimeout + time.Duration(s.rand()*float64(s.minTimeout))
	return max(timeout.Truncate(time.Second), time.Second)
}

func deadline(now time.Time, timeout time.Duration) time.Time {
	if timeout == 0 {
		return time.Time{}
	}
	return now.Add(timeout + margin)
}

// minSilence is the least time without a byte after which a stream is given up whose
// server has sent bookmarks. They come once a minute as a rule.
const minSilence = 3 * time.Minute

// silence returns when a stream has been silent for too long; zero if the server has
// not shown that it sends bookmarks. A proxy may answer the pings of a connection
// behind which the watch is dead.
func (s state) silence(p watching) time.Time {
	if s.bookmarkGap == 0 {
		return time.Time{}
	}
	return p.heard.Add(max(minSilence, 2*s.bookmarkGap))
}

// event applies one event and moves the resume point past it. One that is older than
// the resume point is applied only if it is news for its object all the same.
func (s state) event(now time.Time, p watching, in event) (state, []effect) {
	if in.typ == listwatch.Bookmark {
		s.bookmarked = true
		if !p.bookmark.IsZero() {
			s.bookmarkGap = now.Sub(p.bookmark)
		}
		p.bookmark = now
	}
	p.progress, p.heard = true, now
	s.phase = p
	s.outrun, s.mute = 0, 0
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
	case Expired:
		return s.outran(now, p).relist(now, reason, err)
	case TooLarge:
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
	case Denied, NotFound:
		return s.wait(now, toWatch, reason, err, []effect{problem{class: WatchProblem, err: err}})
	case Closed, Cut, TimedOut, Silent:
		return s.dropped(now, p, reason, err)
	default: // Unreachable, Unavailable, Throttled
		s.outage = s.outage || reason == Unreachable
		return s.wait(now, toWatch, reason, err, nil)
	}
}

// dropped follows a stream that was open and then ended without saying why.
func (s state) dropped(now time.Time, p watching, reason Reason, err error) (state, []effect) {
	if !p.progress {
		s.mute += p.alive(now)
	}
	switch {
	case s.mute >= minSilence && s.bookmarked:
		// No event and not even a bookmark, where there used to be some: the server
		// may not have come to this version, as after the restoration of a backup.
		// It waits in silence until it does. The silence may be that of several
		// watches, where they are short.
		return s.probe(now)
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

// probed watches on, or lists where the server's storage went back.
func (s state) probed(now time.Time, in probed) (state, []effect) {
	switch {
	case in.err != nil:
		return s.wait(now, toWatch, requestReason(in.err), in.err, nil)
	case older(in.version, s.floor()):
		_, err := advance(s.floor(), in.version)
		s.outage, s.refused = false, true
		return s.relist(now, WentBack, err)
	case in.other != nil:
		s.outage, s.refused = false, true
		next, effects := s.relist(now, WentBack, in.other)
		return next, append([]effect{problem{class: VersionProblem, err: in.other}}, effects...)
	}
	s.outage = false
	return s.watch(now, nil)
}

// relist gives the resume point up, after a pause.
//
// A list that brought no later version than the one it was asked for, from which the
// server does not watch, would do so again.
func (s state) relist(now time.Time, reason Reason, err error) (state, []effect) {
	if (reason == Expired || reason == Empty) && s.unmoved != "" && s.unmoved == s.resume {
		s.refused = true
	}
	return s.wait(now, toList, reason, err, []effect{relist{reason: reason, err: err}})
}

// sinkFailed lists again, because the sink lacks something that will not be
// sent a second time.
func (s state) sinkFailed(now time.Time, in sinkFailed) (state, []effect) {
	effects := []effect{problem{class: SinkProblem, err: in.err}}
	switch p := s.phase.(type) {
	case listing:
		if !in.unasked {
			return s, effects // what is needed is on its way
		}
		in.anchor.refused = in.anchor.refused || p.version == "" // somebody asked for that
	case streaming:
		if !in.unasked {
			return s, effects // likewise
		}
		in.anchor.refused = in.anchor.refused || p.version == ""
	case waiting:
		// The wait goes on: a resync that fails again and again must not put the
		// list off for ever.
		s.phase = waiting{until: p.until, then: toList}
		return s, append(effects, relist{reason: SinkFailed, err: in.err})
	case watching:
		s.pace = s.pace.after(p, now)
	}
	s.anchor = in.anchor
	next, more := s.relist(now, SinkFailed, in.err)
	return next, append(append(effects, hangUp{err: in.err}), more...)
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
