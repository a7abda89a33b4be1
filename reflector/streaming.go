package reflector

import (
	"errors"
	"time"

	"github.com/relist-go/relist/listwatch"
)

const (
	// maxPause is the longest silence among initial events, and the longest wait for
	// their end once other events come. Some proxies swallow the bookmark that is the
	// end, and then nothing comes any more, or all that happens to the resource:
	// https://github.com/kubernetes/kubernetes/issues/140890.
	maxPause = 30 * time.Second

	// maxIncomplete streams in a row that end before their initial events do make the
	// reflector list.
	maxIncomplete = 2

	// listFor is how long it lists before it tries a stream again.
	listFor = time.Hour

	// maxOutrun lists in a row that took longer than the server remembers events make
	// the reflector ask for a stream, which has no gap between the state and what
	// follows; and streamFor is how long it does so before it tries a list again.
	maxOutrun = 2
	streamFor = time.Hour
)

// stream asks for the whole state as the first events of a watch, at a version that
// is not older than the one last applied.
func (s state) stream(now time.Time, effects []effect) (state, []effect) {
	version := s.floor()
	if s.refused {
		version = ""
	}
	timeout := s.timeout()
	s.phase = streaming{watching: watching{version: version, asked: now, heard: now, deadline: deadline(now, timeout)}}
	return s, append(effects, watch{version: version, timeout: timeout, initial: true})
}

// outran takes note that the server does not have the version of a list any more, to
// watch from: the list took longer than the server remembers events, as happens to large
// types that change a lot. Then so will the next. If it took no time, then something else
// is wrong, which a stream does not mend.
func (s state) outran(now time.Time, p watching) state {
	if !p.slow || p.progress {
		return s
	}
	if s.outrun++; s.outrun >= maxOutrun {
		s.outrun, s.streamUntil = 0, now.Add(streamFor)
	}
	return s
}

// patience returns when initial events are given up. Bookmarks, changes and deletions
// are signs that they are over, and all else may be.
func (p streaming) patience() time.Time {
	at := p.heard.Add(maxPause)
	if !p.live.IsZero() {
		at = earliest(at, p.live.Add(maxPause))
	}
	return at
}

// initialEvent collects the state, and goes on with the same stream as a watch once
// it is complete.
func (s state) initialEvent(now time.Time, p streaming, in event) (state, []effect) {
	p.progress, p.heard = true, now
	if in.typ != listwatch.Added && p.live.IsZero() {
		p.live = now
	}
	s.phase = p
	if in.typ != listwatch.Bookmark {
		return s, []effect{collect{}}
	}
	if !in.initialEnd {
		return s, nil
	}
	resume, err := advance(s.floor(), in.version)
	var effects []effect
	switch {
	case unanchored(in.version):
		return s.doWithoutStream(now, errNoVersion, []effect{hangUp{err: errNoVersion}})
	case p.version != "" && errors.Is(err, errOlder):
		s.refused = true
		return s.stream(now, []effect{
			hangUp{err: err},
			problem{class: VersionProblem, err: err},
			relist{reason: WentBack, err: err},
		})
	case err != nil && s.resume != "":
		effects = append(effects, problem{class: VersionProblem, err: err})
		resume = in.version
	}
	effects = append(effects, replace{version: resume})
	s = s.synced(now, resume)
	s.incomplete = 0
	p.version, p.bookmark = resume, now
	s.phase = p.watching
	if p.again {
		next, more := s.listWanted(now)
		return next, append(effects, more...)
	}
	return s, effects
}

// streamEnded follows a stream that ended before the state was complete.
func (s state) streamEnded(now time.Time, p streaming, err error) (state, []effect) {
	reason := classify(err)
	if !p.open {
		reason = requestReason(err)
	}
	s.refused = s.refused || p.again
	switch reason {
	case Expired, TooLarge:
		s.refused = true
		if p.version != "" {
			return s.stream(now, []effect{relist{reason: reason, err: err}})
		}
	case Denied, NotFound:
		return s.wait(now, toList, reason, err, []effect{problem{class: ListProblem, err: err}})
	case Failed:
		if findsFault(err) { // it knows nothing of initial events, or has them switched off
			return s.doWithoutStream(now, err, nil)
		}
	default:
	}
	switch reason {
	case Throttled, Failed, Expired, TooLarge:
		s.incomplete++
	default:
		if p.open {
			s.incomplete++
		}
	}
	if s.incomplete >= maxIncomplete {
		return s.doWithoutStream(now, err, nil)
	}
	return s.wait(now, toList, reason, err, nil)
}

// doWithoutStream lists, now and for an hour.
func (s state) doWithoutStream(now time.Time, err error, effects []effect) (state, []effect) {
	if p, ok := s.phase.(streaming); ok {
		s.refused = s.refused || p.again
	}
	s.incomplete = 0
	s.listUntil = now.Add(listFor)
	return s.list(now, append(effects, problem{class: WatchProblem, err: err}, relist{reason: Incomplete, err: err}))
}
