package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

// refetch is the request for one key that is in flight. There is one at a time.
//
// The machine does not use GET: a GET ignores selectors, and a 404 has no version, so the machine
// could not know which events of the watch are older than the answer. A list of one key has a
// version L. It shows the state of that key as of L, and says nothing about other keys.
type refetch struct {
	key         string
	at          string // the version of a question of the history check, see history.go; "" asks for the most recent state
	heard       time.Time
	eventSince  bool // an event of the key has come since
	otherServer bool // since then, another server may have taken the place of the one that was asked
}

// refetches are the requests for single keys.
type refetches struct {
	open      *refetch  // nil if none is in flight
	notBefore time.Time // no key is asked for before this, because the server sent Retry-After; zero if it has not
}

const (
	// After an answer that cannot be used, the machine does not ask for single keys for the time
	// noRefetchFor. There are two causes: the server ignores field selectors, as OpenShift does for
	// projects, or its versions cannot be ordered.
	noRefetchFor = time.Hour

	// After maxAnswersUnused answers in a row that are too old, or that an event has overtaken, the
	// machine lists.
	maxAnswersUnused = 3
)

// refetchTimers gives up a refetch that has been idle for too long.
func (m *Machine) refetchTimers(now time.Time) {
	if m.refetches.open != nil && due(now, m.idleSince(m.refetches.open.heard)) {
		m.emit(CancelRefetch{})
		m.answered(now, Refetched{Failure: Failure{Reason: IdleTimeout, Err: errIdle}})
	}
}

// nextRefetch returns when to send the next question or refetch while a watch is open; zero for
// never.
func (m *Machine) nextRefetch() time.Time {
	at := earliest(m.quarantine.soonest, m.history.due())
	if at.IsZero() {
		return at
	}
	at = latest(at, m.refetches.notBefore)
	return latest(at, m.backoff.nextToken(m.rules, toList))
}

// checkOrRefetch sends the question or the refetch that is due.
func (m *Machine) checkOrRefetch(now time.Time) {
	if m.refetches.open != nil || !due(now, m.nextRefetch()) {
		return
	}
	if due(now, m.history.due()) {
		q := m.history.ask(now)
		m.send(now, &refetch{key: q.Key, at: q.at})
		return
	}
	if key, ok := m.quarantine.due(now); ok {
		m.send(now, &refetch{key: key})
	}
}

func (m *Machine) send(now time.Time, a *refetch) {
	a.heard = now
	m.refetches.open = a
	m.backoff.take(m.rules, toList, now)
	m.emit(Refetch{a.key, a.at})
}

// answered takes the answer to the refetch that is in flight.
func (m *Machine) answered(now time.Time, in Refetched) {
	a := m.refetches.open
	if a == nil {
		return
	}
	m.refetches.open = nil
	if in.Failure.RetryAfter > 0 {
		m.refetches.notBefore = now.Add(in.Failure.retryAfter())
	}
	if a.at == "" {
		m.refetchedKey(now, a, in)
		return
	}
	if err := m.history.answered(now, m.resume, a, in); err != nil {
		m.otherHistory(now, err)
	}
}

// answers reports whether an answer is about the key that was asked for, and whether its version
// can be compared with those of events.
func (r *refetch) answers(in Refetched) bool {
	switch {
	case in.Failure.Code == 400, !object.IsComparable(in.Version) && in.Failure.Reason == 0:
		return false
	case r.key == "":
		return true // the version says all
	}
	return !in.More && len(in.Items) <= 1 && (len(in.Items) == 0 || in.Items[0].Meta.Key == r.key)
}

// answer is what the answer to a refetch says of the sink's object of the key.
type answer uint8

const (
	ofNoUse     answer = iota // nothing for the machine to do: the quarantine has planned the next refetch, or a repair
	upToDate                  // the sink has what the server has
	changed                   // the server has another state
	gone                      // the server does not have the object, or it no longer matches the selector
	undecodable               // the server has a state that cannot be used either, and that was not reported yet
	older                     // the server has an older state than the sink, so its storage rolled back
)

// refetchedKey brings the sink's object of a key in line with the server's answer.
func (m *Machine) refetchedKey(now time.Time, a *refetch, in Refetched) {
	switch what, item := m.quarantine.judge(now, a, in); what {
	case ofNoUse:
	case upToDate:
		m.release(a.key)
		m.quarantine.refetchedTo(m.resume, a.key, in.Version)
	case undecodable:
		m.emit(Problem{Class: ObjectProblem, Key: a.key, Err: item.Err})
	case older:
		m.rolledBack(now, otherThan(item.Held, item.Meta))
	case changed, gone:
		typ := object.Modified
		switch {
		case what == gone:
			typ = object.Deleted
		case !item.IsHeld:
			typ = object.Added
		}
		m.apply(typ, item, in.Version)
	}
}

// judge takes the answer to a refetch, and returns what it says, and the object for that.
func (q *quarantine) judge(now time.Time, a *refetch, in Refetched) (answer, Item) {
	e, ok := q.entries[a.key]
	switch {
	case !ok: // an event has taken the key out of quarantine
	case !a.answers(in):
		q.noRefetchUntil = now.Add(noRefetchFor)
		q.repairInstead(now)
		q.postpone(now, e)
	case in.Failure.Reason != 0:
		e.refetchErr = in.Failure.Err
		q.postpone(now, e)
	case a.eventSince, a.otherServer, object.Older(in.Version, e.minVersion):
		q.answerUnused(now, e)
	case len(in.Items) == 0:
		return q.absent(now, e, in)
	default:
		return q.present(now, e, in.Version, in.Items[0]), in.Items[0]
	}
	return ofNoUse, Item{}
}

// answerUnused asks again, because an event has overtaken the answer, or the answer is too old.
func (q *quarantine) answerUnused(now time.Time, e *entry) {
	if e.answersUnused++; e.answersUnused >= maxAnswersUnused {
		e.answersUnused = 0
		q.repair.want(now)
		q.postpone(now, e)
		return
	}
	q.refetchAt(e, now.Add(refetchBase+q.rules.jitter(refetchBase)))
}

// absent takes the answer that there is no object. If the sink has one, it returns the deletion.
func (q *quarantine) absent(now time.Time, e *entry, in Refetched) (answer, Item) {
	if !q.rules.SinkTells {
		q.repair.want(now) // there is no object to call Delete with, so a list has to say what is gone
		q.postpone(now, e)
		return ofNoUse, Item{}
	}
	if !in.IsHeld {
		return upToDate, Item{}
	}
	meta := object.Meta{Key: e.meta.Key, ResourceVersion: in.Version}
	if e.why == deletionRefused {
		meta = e.meta // the same deletion again: it is reported once, and the backoff of its refetches continues
	}
	e.minVersion = object.Newer(e.minVersion, in.Version)
	return gone, Item{Meta: meta, Err: errAbsent, Held: in.Held, IsHeld: true}
}

var errAbsent = errors.New("the server does not have the object, or the object no longer matches the selector")

// present takes the object that the server has as of a version.
func (q *quarantine) present(now time.Time, e *entry, version string, item Item) answer {
	same := item.IsHeld && !object.DifferentUID(item.Held.UID, item.Meta.UID)
	switch {
	case item.Err != nil:
		what := ofNoUse
		if e.meta != item.Meta {
			what, e.step, e.why = undecodable, 0, unusable
		}
		e.meta, e.err, e.refetchErr = item.Meta, item.Err, nil
		e.minVersion = object.Newer(e.minVersion, item.Meta.ResourceVersion)
		q.postpone(now, e)
		return what
	case same && item.Held.ResourceVersion == item.Meta.ResourceVersion:
		return upToDate
	case same && object.Older(item.Meta.ResourceVersion, item.Held.ResourceVersion) && !object.Older(version, item.Held.ResourceVersion):
		return older
	}
	return changed
}
