package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

// seen takes an event of the stream.
func (m *Machine) seen(now time.Time, e *Seen) {
	switch p := m.phase.(type) {
	case *streaming:
		m.initialEvent(now, p, e)
	case *watching:
		p.heard = now
		switch repeated, err := m.history.isRepetition(p, e); {
		case err != nil:
			m.notRepeated(now, err)
			return
		case repeated:
			return // a repetition is not news, so it is no sign of life
		}
		m.idle.signOfLife(m.rules, now, p)
		p.progress = true
		m.lists.listsOutrunByWindow = 0
		m.watchBrought(now)
		if e.Type == object.Bookmark {
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

// fate is what becomes of an event that is no bookmark.
type fate uint8

const (
	toSink      fate = iota + 1 // the sink gets the change
	ignored                     // the sink has this state or a newer one; or the event is late and deletes what the sink does not hold: its key stays in quarantine
	goneAlready                 // it deletes, in order, what the sink does not hold, so its key needs no refetch
	tooLate                     // it may no longer be true, so its key goes into quarantine
	broken                      // its object cannot be used, so its key goes into quarantine
	keyless                     // nobody can tell which object it is about, so a list is due
)

// fateOf says what becomes of an event, and changes nothing.
//
// A server sends events in the order of their versions, with two exceptions: a watch without a
// version begins with the objects that the server has, in no order; and some servers send an event
// late, behind newer ones. An event that a refetch version covers says nothing new, however late it
// is.
func (m *Machine) fateOf(e *Seen) fate {
	item := e.Item
	same := item.IsHeld && item.Held.UID == item.Meta.UID
	switch {
	case item.Err != nil && item.Meta.Key == "":
		return keyless
	case m.quarantine.refetched(item.Meta),
		object.IsAnyVersion(m.resume) && same && object.Older(item.Meta.ResourceVersion, item.Held.ResourceVersion):
		return ignored
	case object.Older(item.Meta.ResourceVersion, m.resume):
		if what := m.lateFate(e, same); what != toSink {
			return what
		}
	}
	switch { // it is in order, or late and still true
	case item.Err == nil:
		return toSink
	case e.Type != object.Deleted, !m.rules.SinkTells:
		return broken
	case item.IsHeld:
		return toSink // the name is enough for a deletion: the object that the sink holds is deleted
	}
	return goneAlready
}

// lateFate says what becomes of an event that is older than the resume version. If the sink holds
// the same object at a version that is older still, the event is applied. If the sink holds the
// object at this version or a later one, or if the event deletes an object that the sink does not
// hold, the event is ignored. In every other case the server is asked, because the event does not
// say enough. For example, an ADDED may be about an object that the sink does not hold. Then the
// object may have been deleted since, or the reflector may have got access to it just now, as in
// OpenShift's projects (https://github.com/openshift/api/issues/2064).
func (m *Machine) lateFate(e *Seen, same bool) fate {
	item := e.Item
	switch {
	case same && object.Older(item.Held.ResourceVersion, item.Meta.ResourceVersion),
		same && e.Type == object.Deleted && item.Held.ResourceVersion == item.Meta.ResourceVersion: // some servers send a deletion at the version that the object had
		return toSink
	case same && object.IsComparable(item.Held.ResourceVersion),
		e.Type == object.Deleted && m.rules.SinkTells && (!item.IsHeld || object.DifferentUID(item.Held.UID, item.Meta.UID)):
		return ignored
	}
	return tooLate
}

var errLate = errors.New("the event is older than the resume version, and what the sink holds does not tell whether the event is still true")

// event acts on an event that is no bookmark. The resume version moves past it, whatever becomes of
// it, so that one object does not hold up the others.
func (m *Machine) event(now time.Time, e *Seen) {
	item := e.Item
	what := m.fateOf(e)
	if what != keyless {
		m.eventCame(item.Meta.Key)
	}
	switch what {
	case toSink:
		m.apply(e.Type, item, "")
		return // the resume version moves once the sink has answered
	case ignored:
	case goneAlready:
		m.release(item.Meta.Key)
	case tooLate:
		m.quarantine.put(now, m.resume, item, errLate, outOfOrder)
	case broken:
		if e.Type != object.Deleted {
			m.emit(Problem{Class: ObjectProblem, Key: item.Meta.Key, Err: item.Err})
		}
		m.quarantine.put(now, m.resume, item, item.Err, unusable)
	case keyless:
		m.emit(Problem{Class: ObjectProblem, Err: item.Err})
		m.quarantine.put(now, m.resume, item, item.Err, unusable)
		m.history.passed()
		if resume, _ := advance(m.resume, item.Meta.ResourceVersion); !object.IsAnyVersion(m.resume) || e.Type != object.Added {
			m.moveResume(resume)
		}
		return
	}
	m.passEvent(e.Type, item.Meta)
}

// passEvent moves the resume version past an event, unless it is one of the objects that a watch
// without a version begins with, because these come in no order. Only then does [recent] get the
// event, because a server has to repeat only events that the resume version has passed.
func (m *Machine) passEvent(typ object.EventType, meta object.Meta) {
	resume, err := advance(m.resume, meta.ResourceVersion)
	if err == nil && object.IsComparable(m.resume) && resume != m.resume {
		m.history.event(m.resume, known{meta, typ == object.Deleted})
	} else {
		m.history.late(meta)
	}
	switch {
	case err != nil:
		m.emit(Problem{Class: VersionProblem, Key: meta.Key, Err: err})
	case !object.IsAnyVersion(m.resume) || typ != object.Added:
		m.moveResume(resume)
	}
}

// apply gives the sink the object of an event, or of an answer to a refetch, with the version of
// that answer.
//
// A name has one object at a time. If the sink holds another object with this name, then that
// object was deleted, and the sink has not learned of the deletion: the server lost the event, the
// sink refused it, or the watch began after it.
func (m *Machine) apply(typ object.EventType, item Item, answer string) {
	how := Update
	switch another := item.IsHeld && object.DifferentUID(item.Held.UID, item.Meta.UID); {
	case another, typ == object.Deleted && item.Err != nil:
		how = InferDelete
	case typ == object.Deleted:
		how = Delete
	case typ == object.Added:
		how = Add
	}
	m.pending = pending{how: how, typ: typ, item: item, answer: answer}
	m.emit(how)
}
