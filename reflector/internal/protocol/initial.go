package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

const (
	// maxPause is the longest silence among initial events, and the longest wait for their end once other events come. Some
	// proxies swallow the bookmark that is the end, and then nothing comes any more, or all that happens to the resource:
	// https://github.com/kubernetes/kubernetes/issues/140890.
	maxPause = 30 * time.Second

	// maxIncomplete streams in a row that end before their initial events do make the machine list, for listFor.
	maxIncomplete = 2
	listFor       = time.Hour

	// maxOutrun lists in a row that took longer than the server remembers events make the machine ask for initial events,
	// which have no gap between the state and what follows, for streamFor.
	maxOutrun = 2
	streamFor = time.Hour
)

// becomeStreaming asks for the whole state as the first events of a watch, at a version that is not older than what was last
// applied.
func (m *Machine) becomeStreaming(now time.Time) {
	p := &streaming{version: m.floor(), asked: now, heard: now, timeout: m.timeout()}
	if m.mostRecent() {
		p.version, p.serves = "", m.wanted
	}
	p.deadline = deadline(now, p.timeout)
	m.phase = p
	m.pauses.take(m.rules, toWatch, now)
	m.emit(Watch{Version: p.version, Timeout: p.timeout, Initial: true})
}

// listOutrun counts a watch that the server could not open at the version of a list, because the list took longer than the
// server remembers events, as happens to large types that change a lot. Then so will the next. If the list took no time,
// then something else is wrong, which initial events do not mend.
func (m *Machine) listOutrun(now time.Time, p *watching) {
	if !p.afterLongList || p.progress {
		return
	}
	if m.lists.outrun++; m.lists.outrun >= maxOutrun {
		m.lists.outrun, m.lists.streamUntil = 0, now.Add(streamFor)
	}
}

// patience returns when initial events are given up. A bookmark, a change or a deletion is a sign that they are over; an ADDED
// may be one of them.
func (p *streaming) patience() time.Time {
	at := p.heard.Add(maxPause)
	if !p.live.IsZero() {
		at = earliest(at, p.live.Add(maxPause))
	}
	return at
}

// initialEvent collects the state, and goes on with the same stream as a watch once the state is complete.
func (m *Machine) initialEvent(now time.Time, p *streaming, e *Seen) {
	p.heard = now
	if e.Type != Added && p.live.IsZero() {
		p.live = now
	}
	if e.Type != Bookmark {
		m.emit(Collect{})
		return
	}
	if !e.EndsInitial {
		return
	}
	version := e.Item.Meta.ResourceVersion
	resume, err := advance(m.floor(), version)
	switch {
	case object.Any(version):
		m.emit(HangUp{Incomplete, errNoVersion})
		m.doWithoutStream(now, p, Failure{Err: errNoVersion})
		return
	case p.version != "" && errors.Is(err, errOlder):
		m.refused, m.distrusted = true, true
		m.emit(HangUp{WentBack, err})
		m.emit(Problem{Class: VersionProblem, Err: err})
		m.emit(Relist{Version: m.resume, Reason: WentBack, Err: err})
		m.becomeStreaming(now)
		return
	case err != nil && m.resume != "":
		m.emit(Problem{Class: VersionProblem, Err: err})
		resume = version
	}
	sum := *e.Sum
	sum.Version = resume
	if err := m.undecodable(sum); err != nil {
		failure := Failure{Reason: Malformed, Err: err}
		m.fail(now, failure.Err)
		m.emit(HangUp{failure.Reason, failure.Err})
		m.emit(Problem{Class: ListProblem, Err: failure.Err})
		m.becomeWaiting(now, toList, failure)
		return
	}
	m.replace(now, sum)
	m.lists.incomplete = 0
	m.served = max(m.served, p.serves)
	m.streamComplete(now, p)
	if p.again {
		m.listWanted(now, m.wanted)
	}
}

// streamEnded follows a stream that ended before the state was complete.
func (m *Machine) streamEnded(now time.Time, p *streaming, failure Failure) {
	m.refused = m.refused || p.again
	switch failure.Reason {
	case Expired, TooLarge:
		m.refused = true
		if p.version != "" {
			m.emit(Relist{Version: m.resume, Reason: failure.Reason, Err: failure.Err})
			m.becomeStreaming(now)
			return
		}
	case Denied, NotFound:
		m.emit(Problem{Class: ListProblem, Err: failure.Err})
		m.becomeWaiting(now, toList, failure)
		return
	case Failed:
		if failure.findsFault() { // it knows nothing of initial events, or has them switched off
			m.doWithoutStream(now, p, failure)
			return
		}
	default:
	}
	switch failure.Reason {
	case Throttled, Failed, Expired, TooLarge:
		m.lists.incomplete++
	default:
		if p.open {
			m.lists.incomplete++
		}
	}
	if m.lists.incomplete >= maxIncomplete {
		m.doWithoutStream(now, p, failure)
		return
	}
	m.becomeWaiting(now, toList, failure)
}

// doWithoutStream lists, now and for an hour. If the server asks for a pause, the list waits for it.
func (m *Machine) doWithoutStream(now time.Time, p *streaming, failure Failure) {
	m.refused = m.refused || p.again
	m.lists.incomplete, m.lists.listUntil = 0, now.Add(listFor)
	m.emit(Problem{Class: WatchProblem, Err: failure.Err})
	m.emit(Relist{Version: m.resume, Reason: Incomplete, Err: failure.Err})
	if failure.RetryAfter > 0 {
		m.becomeWaiting(now, toList, failure)
		return
	}
	m.sync(now)
}
