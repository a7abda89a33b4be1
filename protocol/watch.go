package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

// margin: a watch may stay open for this time after its timeout. After that the machine takes the connection for dead. Without
// this timer, a half-open connection keeps a watch until the kernel gives up.
const margin = 10 * time.Second

var errTimedOut = errors.New("the server did not end the watch at its timeout")

// becomeWatching opens a stream at the resume version, or before the last events if the server is unverified. If there is no token for
// the request, it waits for one. While nothing changes, bookmarks keep the resume version among the versions that the server
// remembers. The timeout is spread evenly over [MinTimeout, 2 MinTimeout), so that the watches of many clients do not end together.
func (m *Machine) becomeWatching(now time.Time) {
	if wait := m.backoff.until(m.rules, toWatch, now); wait > 0 {
		m.waitUntil(now.Add(wait), toWatch)
		return
	}
	m.backoff.take(m.rules, toWatch, now)
	timeout := m.timeout()
	version, repeats := m.history.begin(m.resume)
	m.phase = &watching{
		version: version, repeats: repeats, asked: now, heard: now, timeout: timeout, deadline: deadline(now, timeout),
		idleLimit: m.idle.limit(m.rules),
	}
	m.emit(Watch{Version: version, Timeout: timeout})
}

// streamComplete turns a stream into a watch, because its initial events are complete.
func (m *Machine) streamComplete(now time.Time, p *streaming) {
	w := &watching{
		version: m.resume, asked: p.asked, heard: now, timeout: p.timeout, deadline: p.deadline,
		open: true, opened: p.asked, progress: true, bookmark: now,
	}
	m.phase = w
	m.watchAccepted(now)
	m.health.failingBefore = time.Time{}
	m.history.opened(now, false)
}

// timeout is how long the server is asked to keep a watch open; zero leaves it to the server.
func (m *Machine) timeout() time.Duration {
	if m.rules.MinTimeout == 0 {
		return 0
	}
	timeout := m.rules.MinTimeout + m.rules.jitter(m.rules.MinTimeout)
	return max(timeout.Truncate(time.Second), time.Second)
}

func deadline(now time.Time, timeout time.Duration) time.Time {
	if timeout == 0 {
		return time.Time{}
	}
	return now.Add(timeout + margin)
}

// opened takes the fact that the server has accepted a watch.
func (m *Machine) opened(now time.Time, reconnected bool) {
	switch p := m.phase.(type) {
	case *watching:
		p.open, p.opened, p.heard = true, now, now
		m.watchAccepted(now)
		if reconnected {
			m.history.suspectList(m.resume)
		}
		m.history.opened(now, !m.synced && len(p.repeats.left) == 0)
	case *streaming:
		p.open, p.heard = true, now
	}
}

// seen takes an event of the stream.
func (m *Machine) seen(now time.Time, e *Seen) {
	switch p := m.phase.(type) {
	case *streaming:
		m.initialEvent(now, p, e)
	case *watching:
		p.heard = now
		switch repeated, err := m.history.isRepetition(p, e); {
		case err != nil:
			m.distrust(err)
			m.waitUntil(now.Add(m.rules.jitter(checkSpread)), toList)
			return
		case repeated:
			return // it says nothing about what the server has sent since
		}
		m.idle.signOfLife(m.rules, now, p)
		p.progress = true
		m.lists.listsOutrunByWindow = 0
		m.watchBrought(now)
		if e.Type == Bookmark {
			m.bookmark(now, p, e.Item.Meta.ResourceVersion)
			return
		}
		m.event(now, e)
	}
}

// bookmark moves the resume version: the server has sent everything up to the bookmark's version.
func (m *Machine) bookmark(now time.Time, p *watching, version string) {
	if !p.bookmark.IsZero() {
		m.idle.bookmarkGap = now.Sub(p.bookmark)
	}
	p.bookmark = now
	resume, err := advance(m.resume, version)
	if err != nil {
		m.emit(Problem{Class: VersionProblem, Err: err})
		return
	}
	m.emit(Passed{resume})
	if resume != m.resume {
		m.history.passed()
	}
	m.moveResume(resume)
}

// event decides what becomes of an event that is no bookmark.
//
//   - If it has no readable name, its object is unknown, so a list is due.
//   - If it is not newer than the refetch version of its key, the sink has this state or a newer one: the event is ignored.
//   - If it is older than the resume version: see [Machine.lateEvent].
//   - If it cannot be used, its key goes into quarantine. A deletion can be used if its name can be read.
//   - Otherwise it is applied.
//
// The resume version moves past the event in each of these cases, so that one object does not hold up the others.
func (m *Machine) event(now time.Time, e *Seen) {
	item, version := e.Item, e.Item.Meta.ResourceVersion
	resume, err := advance(m.resume, version)
	if item.Err != nil && item.Meta.Key == "" {
		m.emit(Problem{Class: ObjectProblem, Err: item.Err})
		m.quarantine.repair.wantUnnamed(now)
		m.history.passed()
		if !object.IsAnyVersion(m.resume) || e.Type != Added {
			m.moveResume(resume)
		}
		return
	}
	m.eventCame(item.Meta.Key)
	switch {
	case m.quarantine.refetched(item.Meta):
	case m.unorderedReplay(item):
	case errors.Is(err, errOlder):
		m.lateEvent(now, e)
	default:
		m.takeEvent(now, e)
	}
	if !m.pending.any() {
		m.passEvent(e.Type, item.Meta)
	}
}

// passEvent moves the resume version past an event, unless it is one of the objects that a watch without a version begins with,
// because these come in no order. The event joins [recent] only now, because a server is asked to repeat only events that the
// resume version has passed.
func (m *Machine) passEvent(typ Type, meta object.Meta) {
	resume, err := advance(m.resume, meta.ResourceVersion)
	if err == nil && object.IsComparable(m.resume) && resume != m.resume {
		m.history.event(m.resume, known{meta, typ == Deleted})
	} else {
		m.history.late(meta)
	}
	switch {
	case err != nil:
		m.emit(Problem{Class: VersionProblem, Key: meta.Key, Err: err})
	case !object.IsAnyVersion(m.resume) || typ != Added:
		m.moveResume(resume)
	}
}

// takeEvent applies an event, or puts its key into quarantine.
func (m *Machine) takeEvent(now time.Time, e *Seen) {
	item := e.Item
	switch {
	case item.Err == nil:
		m.apply(e.Type, item)
	case e.Type != Deleted:
		m.emit(Problem{Class: ObjectProblem, Key: item.Meta.Key, Err: item.Err})
		m.quarantine.put(now, m.resume, item, item.Err, unusable)
	case m.rules.SinkTells:
		// The name is enough for a deletion: the object that the sink holds is deleted.
		if item.IsHeld {
			m.apply(Deleted, item)
		} else {
			m.release(item.Meta.Key)
		}
	default:
		m.quarantine.put(now, m.resume, item, item.Err, unusable)
	}
}

// apply gives the sink the object of an event, or of an answer to a refetch.
//
// A name has one object at a time. If the sink holds another object with this name, then that object was deleted, and the sink
// has not learned of the deletion: the server lost the event, the sink refused it, or the watch began after it.
func (m *Machine) apply(typ Type, item Item) {
	how := Update
	switch another := item.IsHeld && object.DifferentUID(item.Held.UID, item.Meta.UID); {
	case another, typ == Deleted && item.Err != nil:
		how = InferDelete
	case typ == Deleted:
		how = Delete
	case typ == Added:
		how = Add
	}
	m.pending = pending{how: how, typ: typ, item: item}
	m.emit(how)
}

// ended decides what follows a watch. It is the next watch, or a list. The watch begins at the resume version, or up to four events
// before it. The machine does not give these events to the sink a second time.
func (m *Machine) ended(now time.Time, failure Failure) {
	var p *watching
	switch phase := m.phase.(type) {
	case *watching:
		p = phase
	case *streaming:
		if failure.Reason != Closed {
			m.fail(now, failure.Err)
		}
		m.streamEnded(now, phase, failure)
		return
	default:
		return
	}
	if failure.Reason != Closed {
		m.fail(now, failure.Err)
	}
	m.watchOver(now, p)
	if m.history.mayBeAnotherServer(p, failure.Reason, now) {
		m.anotherServer(now)
	}
	if m.history.unrepeatable(now, m.resume, p, failure.Reason) {
		m.becomeWatching(now)
		return
	}
	reason, unanswered := failure.Reason, failure.Reason == ConnectionLost && !p.open
	if unanswered || reason == Failed || reason == Malformed || reason == Denied || reason == NotFound {
		m.emit(Problem{Class: WatchProblem, Err: failure.Err})
	}
	if object.IsAnyVersion(p.version) {
		// If the watch was refused, the reason is told as that of an outage: perhaps every watch is refused, and only lists bring news.
		if !unanswered && reasons[failure.Reason].means != wrong {
			failure.Reason = Unversioned
		}
		m.relist(now, failure)
		return
	}
	switch failure.Reason {
	case Expired:
		m.listOutrun(now, p)
		m.relist(now, failure)
	case TooLarge:
		m.relist(now, failure)
	case Failed, Malformed:
		if m.backoff.failures++; m.backoff.failures >= maxFailures {
			m.backoff.failures = 0
			m.relist(now, failure)
			return
		}
		m.becomeWaiting(now, toWatch, failure)
	case Closed, ConnectionLost, TimedOut, IdleTimeout:
		if unanswered {
			m.becomeWaiting(now, toWatch, failure)
			return
		}
		m.dropped(now, p, failure)
	default: // Unreachable, Unavailable, Throttled, Denied, NotFound
		m.becomeWaiting(now, toWatch, failure)
	}
}

// watchOver notes the end of a watch.
func (m *Machine) watchOver(now time.Time, p *watching) {
	m.backoff.after(p, now)
	if p.open {
		m.watchLives(now, false)
	}
}

// dropped decides what to do after a stream that was open and then ended without an error of the server.
func (m *Machine) dropped(now time.Time, p *watching, failure Failure) {
	switch {
	case failure.Reason == IdleTimeout:
		m.idle.ended(p)
		m.becomeWatching(now)
		return
	case p.lasted(now):
		m.becomeWatching(now)
		return
	case p.progress && !m.backoff.reopenedAtOnce:
		m.backoff.reopenedAtOnce = true
		m.becomeWatching(now)
		return
	case p.empty(now):
		m.backoff.emptyWatches++
	}
	if m.backoff.emptyWatches >= maxEmpties {
		m.backoff.emptyWatches = 0
		m.relist(now, Failure{EmptyWatches, failure.Code, failure.RetryAfter, failure.Err})
		return
	}
	m.becomeWaiting(now, toWatch, failure)
}
