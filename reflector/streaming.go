package reflector

import (
	"errors"
	"time"

	"github.com/relist-go/relist/listwatch"
)

const (
	// maxPause is the longest silence among initial events. Some proxies swallow the
	// bookmark that ends them, and then nothing comes any more:
	// https://github.com/kubernetes/kubernetes/issues/140890.
	maxPause = 30 * time.Second

	// maxIncomplete streams in a row that end before their initial events do make the
	// reflector list.
	maxIncomplete = 2

	// listFor is how long it lists before it tries a stream again.
	listFor = time.Hour
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

// initialEvent collects the state, and goes on with the same stream as a watch once
// it is complete.
func (s state) initialEvent(now time.Time, p streaming, in event) (state, []effect) {
	p.progress, p.heard = true, now
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
	case in.version == "":
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
	case Denied:
		return s.wait(now, toList, reason, err, []effect{problem{class: ListProblem, err: err}})
	case Failed:
		if findsFault(err) { // it knows nothing of initial events, or has them switched off
			return s.doWithoutStream(now, err, nil)
		}
	default:
	}
	if p.open || reason == Throttled || reason == Failed {
		s.incomplete++
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
