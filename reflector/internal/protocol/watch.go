package protocol

import (
	"errors"
	"maps"
	"time"

	"github.com/relist-go/relist/object"
)

// margin is how long after its timeout a watch may still be open. Then the connection is taken for dead: without a timer here, a
// half-open connection holds a watch for as long as the kernel likes.
const margin = 10 * time.Second

// becomeWatching opens a stream at the resume point, if the pace allows a request now. Bookmarks keep the resume point in the
// server's window while nothing changes, and the timeout spreads evenly over [MinTimeout, 2 MinTimeout) so that a fleet does
// not return as one.
func (m *Machine) becomeWatching(now time.Time) {
	if wait := m.pauses.until(m.rules, toWatch, now); wait > 0 {
		m.waitUntil(now.Add(wait), toWatch)
		return
	}
	m.pauses.take(m.rules, toWatch, now)
	timeout := m.timeout()
	m.phase = &watching{
		version: m.resume, asked: now, heard: now, timeout: timeout, deadline: deadline(now, timeout),
		silence: m.silence.limit(&m.rules),
	}
	m.emit(Watch{Version: m.resume, Timeout: timeout})
}

// streamComplete goes on with a stream, whose initial events are complete, as a watch.
func (m *Machine) streamComplete(now time.Time, p *streaming) {
	m.phase = &watching{
		version: m.resume, asked: p.asked, heard: now, timeout: p.timeout, deadline: p.deadline,
		open: true, opened: p.asked, progress: true, bookmark: now,
	}
	m.health = health{}
}

// timeout is what the server is asked to keep a watch open; zero leaves it to the server.
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

// opened follows the server's answer to a watch.
func (m *Machine) opened(now time.Time) {
	switch p := m.phase.(type) {
	case *watching:
		p.open, p.opened, p.heard = true, now, now
		m.health.opened(now)
		m.planProbe(now)
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
		m.silence.broken(&m.rules, now, p)
		p.progress, p.heard = true, now
		m.lists.outrun = 0
		m.health.good()
		if e.Type == Bookmark {
			m.bookmark(now, p, e.Item.Meta.ResourceVersion)
			return
		}
		m.event(now, e)
	}
}

// bookmark moves the resume point: nothing is missing up to a version.
func (m *Machine) bookmark(now time.Time, p *watching, version string) {
	if !p.bookmark.IsZero() {
		m.silence.gap = now.Sub(p.bookmark)
	}
	p.bookmark = now
	resume, err := advance(m.resume, version)
	if err != nil {
		m.emit(Problem{Class: VersionProblem, Err: err})
		return
	}
	m.emit(Passed{resume})
	m.moveResume(resume)
}

// event decides what becomes of an event that is no bookmark.
//
//   - It has no readable name, so nobody knows which object it is about: a list is due.
//   - It is behind the fence of its key: it says nothing new.
//   - It is behind the resume point: see [Machine.lateEvent].
//   - It cannot be used: its key goes into quarantine, but a deletion needs no more than a name.
//   - Else it is applied.
//
// The resume point moves past it whichever of these it is, so that one object does not hold up the others.
func (m *Machine) event(now time.Time, e *Seen) {
	item, version := e.Item, e.Item.Meta.ResourceVersion
	resume, err := advance(m.resume, version)
	if item.Err != nil && item.Meta.Key == "" {
		m.emit(Problem{Class: ObjectProblem, Err: item.Err})
		m.repair.want(&m.rules, now)
		m.moveResume(resume)
		return
	}
	m.touch(item.Meta.Key)
	switch {
	case m.fenced(item.Meta):
	case m.unorderedReplay(item):
	case errors.Is(err, errOlder):
		m.lateEvent(now, e)
	default:
		m.take(now, e)
	}
	if err != nil {
		m.emit(Problem{Class: VersionProblem, Key: item.Meta.Key, Err: err})
		return
	}
	if !object.Any(m.resume) || e.Type != Added {
		// The initial events of a watch without a version come in no order.
		m.moveResume(resume)
	}
}

// unorderedReplay reports whether the sink holds a later version of the object than an event is about, in a watch that began
// without a version, whose first events are whatever the server has.
func (m *Machine) unorderedReplay(item Item) bool {
	return object.Any(m.resume) && item.IsHeld && item.Held.UID == item.Meta.UID &&
		object.Older(item.Meta.ResourceVersion, item.Held.ResourceVersion)
}

// lateEvent decides about an event that is older than the resume point. It is applied if the sink holds the same object at
// a version that is older still. It says nothing if the sink holds that object at this version or a later one, or if it
// deletes what the sink does not hold. In every other case the event alone does not tell: an object that is not held may have
// been deleted since, or may be one that the reflector was given access to just now, as in OpenShift's projects
// (https://github.com/openshift/api/issues/2064). So the server is asked.
func (m *Machine) lateEvent(now time.Time, e *Seen) {
	item := e.Item
	same := item.IsHeld && item.Held.UID == item.Meta.UID
	switch {
	case same && object.Older(item.Held.ResourceVersion, item.Meta.ResourceVersion),
		same && e.Type == Deleted && item.Held.ResourceVersion == item.Meta.ResourceVersion: // as some servers send it
		m.take(now, e)
	case same && object.Ordered(item.Held.ResourceVersion):
	case e.Type == Deleted && m.rules.SinkTells && (!item.IsHeld || object.Another(item.Held.UID, item.Meta.UID)):
	default:
		m.recent.forget(item.Meta.Key)
		m.setAside(now, item, errLate, notKnown)
	}
}

var errLate = errors.New("the event is older than the resume point, and what the sink holds does not tell whether it is news")

// take applies an event, or puts its key into quarantine.
func (m *Machine) take(now time.Time, e *Seen) {
	item := e.Item
	m.recent.told(item.Meta, e.Type == Deleted)
	switch {
	case item.Err == nil:
		m.apply(e.Type, item)
	case e.Type != Deleted:
		m.emit(Problem{Class: ObjectProblem, Key: item.Meta.Key, Err: item.Err})
		m.setAside(now, item, item.Err, unusable)
	case m.rules.SinkTells:
		// A deletion needs no more than a name: what is deleted is what the sink holds.
		if item.IsHeld {
			m.apply(Deleted, item)
		} else {
			m.quarantine.release(item.Meta.Key)
		}
	default:
		m.setAside(now, item, item.Err, unusable)
	}
}

// apply gives the sink the object of an event, or of an answer to an ask.
//
// A name has one object at a time. If the sink holds another one than this, then that one was deleted unseen: a server has lost
// the event, the sink refused it, or the watch began after it.
func (m *Machine) apply(typ Type, item Item) {
	m.undo = undo{
		sink: applied, position: m.position,
		key: item.Meta.Key, item: item, entry: m.quarantine.release(item.Meta.Key),
	}
	another := item.IsHeld && object.Another(item.Held.UID, item.Meta.UID)
	switch {
	case typ == Deleted && (another || item.Err != nil):
		m.emit(InferDelete)
	case typ == Deleted:
		m.emit(Delete)
	case another:
		m.emit(InferDelete)
		m.emit(Add)
	case typ == Added:
		m.emit(Add)
	default:
		m.emit(Update)
	}
	m.emit(Applied{})
}

// moveResume moves the resume point, and drops the fences that it has reached. The map that there was stays as it is, because a
// refusal of the sink may take the step back.
func (m *Machine) moveResume(to string) {
	m.resume = to
	reached := func(_, fence string) bool { return !object.Older(to, fence) }
	for key, fence := range m.fences { // the order does not matter: the first that is reached has all looked at
		if reached(key, fence) {
			m.fences = maps.Clone(m.fences)
			maps.DeleteFunc(m.fences, reached)
			return
		}
	}
}

// fenced reports whether an ask has told the state of the key as of this version or a later one.
func (m *Machine) fenced(meta object.Meta) bool {
	if len(m.fences) == 0 {
		return false
	}
	fence, ok := m.fences[meta.Key]
	return ok && (meta.ResourceVersion == fence || object.Older(meta.ResourceVersion, fence))
}

// ended decides between opening the watch again where it stopped, which sends no object twice, and listing.
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
	m.pauses.after(p, now)
	m.unplanProbe()
	if m.mayBeAnother(p, failure.Reason, now) {
		m.doubtServer()
		m.doubtAnswers(now)
	}
	if object.Any(p.version) {
		m.relist(now, Failure{Unanchored, failure.Code, failure.RetryAfter, failure.Err})
		return
	}
	switch failure.Reason {
	case Expired:
		m.listOutrun(now, p)
		m.relist(now, failure)
	case TooLarge:
		m.relist(now, failure)
	case Failed, Malformed:
		m.emit(Problem{Class: WatchProblem, Err: failure.Err})
		if m.pauses.failures++; m.pauses.failures >= maxFailures {
			m.pauses.failures = 0
			m.relist(now, failure)
			return
		}
		m.becomeWaiting(now, toWatch, failure)
	case Denied, NotFound:
		m.emit(Problem{Class: WatchProblem, Err: failure.Err})
		m.becomeWaiting(now, toWatch, failure)
	case Closed, Cut, TimedOut, Silent:
		m.dropped(now, p, failure)
	default: // Unreachable, Unavailable, Throttled
		m.becomeWaiting(now, toWatch, failure)
	}
}

// dropped follows a stream that was open and then ended without saying why.
func (m *Machine) dropped(now time.Time, p *watching, failure Failure) {
	switch {
	case failure.Reason == Silent:
		m.silence.ended(p)
		m.becomeWatching(now)
		return
	case p.lasted(now):
		m.becomeWatching(now)
		return
	case p.progress && !m.pauses.reconnected:
		m.pauses.reconnected = true
		m.becomeWatching(now)
		return
	case !p.progress && p.alive(now) < short:
		m.pauses.empties++
	}
	if m.pauses.empties >= maxEmpties {
		m.pauses.empties = 0
		m.relist(now, Failure{Empty, failure.Code, failure.RetryAfter, failure.Err})
		return
	}
	m.becomeWaiting(now, toWatch, failure)
}
