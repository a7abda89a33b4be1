package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

const (
	// maxDelay is the longest idle time among initial events. Once an event has come that is not an
	// initial event, their end must come within the same time. Some proxies lose the bookmark that
	// ends the initial events. Then nothing comes any more, or only later changes:
	// https://github.com/kubernetes/kubernetes/issues/140890.
	maxDelay = 30 * time.Second

	// After maxIncomplete streams in a row that ended too early, the machine asks for lists for the
	// time listFor.
	maxIncomplete = 2
	listFor       = time.Hour

	// longList: a list that took this long may have outrun the server's memory of events.
	longList = time.Second

	// After maxOutrun lists in a row that took longer than the time for which the server remembers
	// events, the machine asks for initial events for the time streamFor. With initial events there
	// is no gap between the state and the events that follow.
	maxOutrun = 2
	streamFor = time.Hour
)

var errIncomplete = errors.New("the initial events stopped before their end")

// becomeStreaming asks for the whole state as the first events of a watch. The state must not be
// older than what the sink holds.
func (m *Machine) becomeStreaming(now time.Time) {
	p := &streaming{version: m.floor(), asked: now, heard: now, timeout: m.timeout()}
	if m.mostRecent() {
		p.version, p.ticket = "", m.wantedTicket
	}
	p.deadline = deadline(now, p.timeout)
	m.phase = p
	m.emit(Watch{Version: p.version, Timeout: p.timeout, Initial: true})
}

// listOutrun counts a list that took too long: the server has forgotten events since the version of
// the list, and so it refused a watch at that version. That happens to large types that change a
// lot, and the next list will take as long. If the list was quick, then something else is wrong,
// and initial events would not help.
func (m *Machine) listOutrun(now time.Time, p *watching, failure Failure) {
	if failure.Reason != Expired || !p.afterLongList || p.progress {
		return
	}
	if m.lists.listsOutrunByWindow++; m.lists.listsOutrunByWindow >= maxOutrun {
		m.lists.listsOutrunByWindow, m.lists.initialEventsUntil = 0, now.Add(streamFor)
	}
}

// givenUpAt returns when the machine stops waiting for the end of the initial events. A bookmark, a
// MODIFIED or a DELETED shows that the initial events are over. An ADDED may be an initial event.
func (p *streaming) givenUpAt() time.Time {
	at := p.heard.Add(maxDelay)
	if !p.otherEventAt.IsZero() {
		at = earliest(at, p.otherEventAt.Add(maxDelay))
	}
	return at
}

// initialEvent collects the state. Once the state is complete, the same stream continues as a
// watch.
func (m *Machine) initialEvent(now time.Time, p *streaming, e *Seen) {
	p.heard = now
	if e.Type != object.Added && p.otherEventAt.IsZero() {
		p.otherEventAt = now
	}
	if e.Type != object.Bookmark {
		m.emit(Collect{})
		return
	}
	if !e.EndsInitial {
		return
	}
	sum := *e.Sum
	sum.Version = e.Item.Meta.ResourceVersion
	if object.IsAnyVersion(sum.Version) {
		m.emit(Cancel{Incomplete, errNoVersion})
		m.listInstead(now, p, Failure{Err: errNoVersion})
		return
	}
	m.wholeStateCame(now, p.version, sum)
}

// initialEventsTaken continues with the stream as a watch.
func (m *Machine) initialEventsTaken(now time.Time, p *streaming) {
	m.servedTicket = max(m.servedTicket, p.ticket)
	m.lists.incompleteStreams = 0
	m.streamComplete(now, p)
	if p.anotherWanted {
		m.listWanted(now, m.wantedTicket)
	}
}

// streamEnded decides what to do after a stream that ended before the state was complete.
func (m *Machine) streamEnded(now time.Time, p *streaming, failure Failure) {
	m.fail(now, failure)
	m.mostRecentNext = m.mostRecentNext || p.anotherWanted
	switch what := reasons[failure.Reason].stream; {
	case what == newest && m.askNewest(now, p.version, failure):
		return
	case what == rejected && failure.findsFault(): // the server does not know initial events, or they are switched off there
		m.listInstead(now, p, failure)
		return
	case what == report:
		m.emit(Problem{Class: ListProblem, Err: failure.Err})
	case what == cut && !p.open: // no server has answered, so the next one may know initial events
	default: // refused, or cut while open; newest and rejected that led to nothing above
		m.lists.incompleteStreams++
	}
	if m.lists.incompleteStreams >= maxIncomplete {
		m.listInstead(now, p, failure)
		return
	}
	m.becomeWaiting(now, toList, failure)
}

// listInstead asks for lists instead of initial events, now and for an hour. If the server has
// asked for a delay, the list waits.
func (m *Machine) listInstead(now time.Time, p *streaming, failure Failure) {
	m.mostRecentNext = m.mostRecentNext || p.anotherWanted
	m.lists.incompleteStreams, m.lists.listsUntil = 0, now.Add(listFor)
	m.emit(Problem{Class: WatchProblem, Err: failure.Err})
	m.emit(Relist{Version: m.resume, Reason: Incomplete, Err: failure.Err})
	if failure.RetryAfter > 0 {
		m.becomeWaiting(now, toList, failure)
		return
	}
	m.sync(now)
}
