package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

// ask is the request for one key that is in flight. There is one at a time.
//
// The server is not asked by GET. A GET knows nothing of selectors, and a 404 has no version, so neither "it is there" nor
// "it is gone" could be put in order with the events of the watch. A list of one key can, by its own version L: of that key,
// and of no other, its answer is true as of L.
type ask struct {
	key     string
	probe   bool // it is to tell whether the server is the one it was, see trust.go
	asked   time.Time
	heard   time.Time
	touched bool // an event of the key has come since; an event of any key, if it is empty
	doubted bool // another server may have taken the place of the one that was asked
}

const (
	// unaskable is how long a server is not asked that has shown that it cannot be: it ignores field selectors, as OpenShift
	// does for projects, or its versions cannot be ordered.
	unaskable = time.Hour

	// maxUntaken answers in a row that are older than what was seen, or were overtaken by an event, make the machine list.
	maxUntaken = 3
)

// askTimers gives up an ask that has been silent for too long.
func (m *Machine) askTimers(now time.Time) {
	if m.ask != nil && due(now, m.impatient(m.ask.heard)) {
		m.emit(CancelAsk{})
		m.answered(now, Answered{Failure: Failure{Reason: Silent, Err: errSilent}})
	}
}

// nextAsk returns when to ask for something beside an open watch; zero for never.
func (m *Machine) nextAsk() time.Time {
	at := m.quarantine.soonest
	if m.doubt != nil {
		at = earliest(at, m.doubt.at)
	}
	if at.IsZero() {
		return at
	}
	at = latest(at, m.askAfter)
	if m.rules.Base == 0 {
		return at
	}
	return latest(at, m.pauses.lists.Add(-(burst-1)*m.rules.scaled(refill)))
}

// probeOrAsk asks for what is due.
func (m *Machine) probeOrAsk(now time.Time) {
	if m.ask != nil || !due(now, m.nextAsk()) {
		return
	}
	if d := m.doubt; d != nil && due(now, d.at) {
		d.at = time.Time{}
		a := &ask{probe: true}
		if d.recent[d.which].touched {
			d.next()
		}
		if !now.Before(m.askable) {
			a.key = d.recent[d.which].Key
		}
		m.send(now, a)
		return
	}
	switch key, ok := m.quarantine.due(now); {
	case !ok:
	case now.Before(m.askable):
		m.repair.want(&m.rules, now)
		m.quarantine.postpone(&m.rules, now, m.quarantine.entries[key])
	default:
		m.send(now, &ask{key: key})
	}
}

func (m *Machine) send(now time.Time, a *ask) {
	a.asked, a.heard = now, now
	m.ask = a
	m.pauses.take(m.rules, toList, now)
	m.emit(Ask{a.key})
}

// touch says that an event of a key has come: what is on its way about the key may be older.
func (m *Machine) touch(key string) {
	if m.ask != nil && (m.ask.key == key || m.ask.key == "") {
		m.ask.touched = true
	}
	if m.doubt != nil {
		m.doubt.touch(key)
	}
	if m.verify.running() {
		m.verify.touched[key] = true
	}
}

// answered takes the answer to the ask that is in flight.
func (m *Machine) answered(now time.Time, in Answered) {
	a := m.ask
	if a == nil {
		return
	}
	m.ask = nil
	if in.Failure.RetryAfter > 0 {
		m.askAfter = now.Add(min(in.Failure.RetryAfter, maxRetryAfter))
	}
	switch {
	case a.probe:
		m.probed(now, a, in)
	default:
		m.askAnswered(now, a, in)
	}
}

// answers reports whether an answer is about the key that was asked for, and can be put in order with events.
func (a *ask) answers(in Answered) bool {
	switch {
	case in.Failure.Code == 400, !object.Ordered(in.Version) && in.Failure.Reason == 0:
		return false
	case a.key == "":
		return true
	}
	return !in.More && len(in.Items) <= 1 && (len(in.Items) == 0 || in.Items[0].Meta.Key == a.key)
}

// askAnswered makes what the server says of a key true of the sink.
func (m *Machine) askAnswered(now time.Time, a *ask, in Answered) {
	e, ok := m.quarantine.entries[a.key]
	if !ok {
		return // an event has done what the answer would do
	}
	switch {
	case !a.answers(in):
		m.askable = now.Add(unaskable)
		m.repairUnaskable(now)
		m.quarantine.postpone(&m.rules, now, e)
	case in.Failure.Reason != 0:
		e.askErr = in.Failure.Err
		m.quarantine.postpone(&m.rules, now, e)
	case a.touched, a.doubted, object.Older(in.Version, e.seen):
		m.untaken(now, e)
	case len(in.Items) == 0:
		m.absent(now, e, in)
	default:
		m.present(now, e, in.Version, in.Items[0])
	}
}

// untaken asks again, because an answer was overtaken by an event, or is older than what was seen.
func (m *Machine) untaken(now time.Time, e *entry) {
	if e.untaken++; e.untaken >= maxUntaken {
		e.untaken = 0
		m.repair.want(&m.rules, now)
		m.quarantine.postpone(&m.rules, now, e)
		return
	}
	m.quarantine.askAt(e, now.Add(askBase+m.rules.jitter(askBase)))
}

// absent deletes what the sink holds of a key that the server does not have, or that has left the selector.
func (m *Machine) absent(now time.Time, e *entry, in Answered) {
	switch {
	case !m.rules.SinkTells:
		m.repair.want(&m.rules, now) // there is nothing to call Delete with; a list says what is gone
		m.quarantine.postpone(&m.rules, now, e)
	case in.IsHeld:
		m.applyAnswer(Deleted, in.Version, Item{
			Meta: object.Meta{Key: e.meta.Key, ResourceVersion: in.Version}, Err: errAbsent, Held: in.Held, IsHeld: true,
		})
	default:
		m.recent.told(object.Meta{Key: e.meta.Key, ResourceVersion: in.Version}, true)
		m.quarantine.release(e.meta.Key)
		m.fence(e.meta.Key, in.Version)
	}
}

var errAbsent = errors.New("the server does not have it, or it has left the selector")

// present applies the object that the server has.
func (m *Machine) present(now time.Time, e *entry, version string, item Item) {
	same := item.IsHeld && !object.Another(item.Held.UID, item.Meta.UID)
	switch {
	case item.Err != nil:
		m.recent.told(item.Meta, false)
		if e.meta != item.Meta {
			m.emit(Problem{Class: ObjectProblem, Key: item.Meta.Key, Err: item.Err})
			e.step, e.why = 0, unusable
		}
		e.meta, e.err, e.askErr = item.Meta, item.Err, nil
		e.seen = object.Newer(e.seen, item.Meta.ResourceVersion)
		m.quarantine.postpone(&m.rules, now, e)
	case same && item.Held.ResourceVersion == item.Meta.ResourceVersion:
		m.recent.told(item.Meta, false)
		m.quarantine.release(e.meta.Key)
		m.fence(e.meta.Key, version)
	case same && object.Older(item.Meta.ResourceVersion, item.Held.ResourceVersion) && !object.Older(version, item.Held.ResourceVersion):
		m.wentBack(now, otherVersion(item))
	case item.IsHeld:
		m.applyAnswer(Modified, version, item)
	default:
		m.applyAnswer(Added, version, item)
	}
}

// applyAnswer gives the sink the state of a key as of a version, and raises a fence there. The fence stays if the sink refuses: it
// may have taken a part, the end of the object that there was before, and an older event must not take that back.
func (m *Machine) applyAnswer(typ Type, version string, item Item) {
	m.recent.told(item.Meta, typ == Deleted)
	m.apply(typ, item)
	m.touch(item.Meta.Key)
	m.fence(item.Meta.Key, version)
}

// fence says that the state of a key as of a version has been told, so events of the key up to it say nothing new.
func (m *Machine) fence(key, version string) {
	if !object.Older(m.resume, version) {
		return
	}
	if m.fences == nil {
		m.fences = map[string]string{}
	}
	m.fences[key] = version
}

// cancelBeside gives up what is in flight beside the watch: a list brings everything.
func (m *Machine) cancelBeside() {
	if m.ask != nil {
		m.ask = nil
		m.emit(CancelAsk{})
	}
	if m.verify.running() {
		m.verify.cancel()
		m.emit(CancelVerification{})
	}
}
