package protocol

import (
	"time"

	"github.com/relist-go/relist/object"
)

// pending is what the last effect of a step has given to the sink, one thing at most. The next
// input is [Took] or [Refused]. Until then the machine does nothing that depends on it, so a
// refusal has nothing to undo.
type pending struct {
	how Apply // 0 for a whole state, or if there is nothing
	sum *Sum  // of the whole state

	// For a change of one object: the object, the type of the change, and the version of the
	// refetch's answer. answer is "" if an event brought the change.
	item   Item
	typ    object.EventType
	answer string
}

func (p *pending) any() bool { return p.how != 0 || p.sum != nil }

// took does what follows when the sink has taken what it was given.
func (m *Machine) took(now time.Time, given pending) {
	switch {
	case given.sum != nil:
		m.replaced(now, *given.sum)
	case given.how == Resync, given.how == 0:
	case given.how == InferDelete && given.typ != object.Deleted: // another object with that name is gone
		given.how = Add
		m.pending = given
		m.emit(Add)
	default:
		m.release(given.item.Meta.Key)
		m.emit(Applied{})
		m.changeIsOver(given)
	}
}

// refused decides what to do when the sink has refused what it was given. A key whose object was
// refused goes into quarantine. If a list or a resync was refused, the machine lists.
func (m *Machine) refused(now time.Time, given pending, err error) {
	switch {
	case given.sum != nil:
		m.listAfterRefusal(now, err)
	case given.how == Resync:
		m.resyncRefused(now, err)
	case given.how != 0:
		m.changeRefused(now, given, err)
	}
}

func (m *Machine) resyncRefused(now time.Time, err error) {
	switch p := m.phase.(type) {
	case *listing, *streaming:
		m.emit(Problem{Class: SinkProblem, Err: err}) // the list that is needed is on its way
	case *waiting:
		// The wait continues: a resync that fails again and again must not put the list off
		// forever.
		m.emit(Problem{Class: SinkProblem, Err: err})
		m.emit(Relist{Version: m.resume, Reason: SinkFailed, Err: err})
		m.waitUntil(p.until, toList)
	default:
		m.listAfterRefusal(now, err)
	}
}

// changeRefused puts an object into quarantine that the sink has refused.
func (m *Machine) changeRefused(now time.Time, given pending, err error) {
	why, item := sinkRefused, given.item
	if given.typ == object.Deleted {
		why = deletionRefused
	}
	news := m.quarantine.put(now, m.resume, item, err, why)
	if m.quarantine.sinkRefusals() > maxRefused {
		m.listAfterRefusal(now, err)
		return
	}
	m.changeIsOver(given)
	if news {
		m.emit(Problem{Class: SinkProblem, Key: item.Meta.Key, Err: err})
	}
}

// changeIsOver does what follows from a change, whether or not the sink took it: the resume version
// moves past an event, and an answer to a refetch records a refetch version. An answer may be two
// changes: it deletes an earlier object with the same name, and adds the new one. Even if the sink
// refuses the second change, older events must not bring the earlier object back, and the refetch
// version keeps them from that.
func (m *Machine) changeIsOver(given pending) {
	if given.answer != "" {
		m.eventCame(given.item.Meta.Key)
		m.quarantine.refetchedTo(m.resume, given.item.Meta.Key, given.answer)
		return
	}
	m.passEvent(given.typ, given.item.Meta)
}

// listAfterRefusal lists again, because the server will not send a second time what the sink has
// refused.
func (m *Machine) listAfterRefusal(now time.Time, err error) {
	failure := Failure{Reason: SinkFailed, Err: err}
	m.fail(now, failure)
	m.emit(Problem{Class: SinkProblem, Err: err})
	m.emit(Cancel{SinkFailed, err})
	if p, ok := m.phase.(*watching); ok {
		m.watchOver(now, p)
	}
	m.relist(now, failure)
}
