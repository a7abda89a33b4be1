package protocol

import "time"

// Machine makes every decision of a reflector, and remembers what it needs for that. It does no
// I/O, starts no goroutine and reads no clock; its random numbers come from [Rules.Rand]. One
// goroutine owns it.
type Machine struct {
	rules *Rules // history and quarantine have it, too
	phase phase
	position
	out     []Effect // of this step; the next step uses the slice again
	pending pending  // what the sink was given by the last step, see refusal.go

	lists   lists      // what the machine has learned about lists of this server, see list.go and initial.go
	backoff backoff    // how requests are paced
	idle    idleLimits // when a watch that brings nothing is given up
	health  health     // what is reported about an outage

	resyncAt time.Time // zero before the first list; always zero if there are no resyncs

	wantedTicket, servedTicket int // tickets number the calls of Relist: the newest call, and the newest that has got its list

	// The guests: what is done beside the conversation, see beside.go. saved.go, the fourth, has
	// nothing to remember.
	history    history
	quarantine quarantine
	verify     verification
	refetches  refetches // the requests for single keys, which history and quarantine share
}

// position says which resourceVersion the sink is at, and so what to ask for next.
type position struct {
	// resume is the resume version: the sink has everything up to this resourceVersion, except what
	// is in quarantine. The next watch begins there. It is empty before the first list.
	resume string

	// mostRecentNext: the next list asks for the most recent state, because a list at a version has
	// failed or has not helped.
	mostRecentNext bool

	// distrusted: the server's storage rolled back, or may have, and the sink still holds objects
	// from before. The same version may now mean another state, so every object of the next list is
	// decoded.
	distrusted bool

	// synced: the sink has had a whole list, or a saved copy that the server has resumed.
	synced bool
}

// New returns a machine that lists at its first tick.
func New(rules Rules) *Machine {
	return &Machine{
		rules: &rules, phase: &waiting{then: toList},
		history: history{rules: &rules}, quarantine: newQuarantine(&rules),
	}
}

// Step takes one input and returns the effects to perform, in order. The slice is used again by the
// next Step.
func (m *Machine) Step(now time.Time, in Input) []Effect {
	clear(m.out)
	m.out = m.out[:0]
	given := m.pending
	m.pending = pending{}
	switch in := in.(type) {
	case Took:
		m.took(now, given)
	case Refused:
		m.refused(now, given, in.Err)
	case *Seen:
		m.seen(now, in)
	case Tick:
		m.tick(now, in)
	case Listed:
		switch p, ok := m.phase.(*listing); {
		case !ok:
		case in.Failure.Reason != 0:
			m.listFailed(now, p, in.Failure)
		default:
			m.listCame(now, p, in.Sum)
		}
	case Opened:
		m.opened(now, in.Reconnected)
	case Ended:
		m.ended(now, in.Failure)
	case Refetched:
		m.answered(now, in)
	case MetadataListed:
		m.metadataListed(now, in)
	case Compared:
		m.compared(now, in)
	case ListWanted:
		m.listWanted(now, in.Ticket)
	case ResumeSaved:
		m.resumeSaved(now, in.Point)
	case Stopped:
		m.stopped(now)
	}
	if !m.pending.any() {
		m.conclude(now)
	}
	return m.out
}

// emit adds an effect to those of the step.
func (m *Machine) emit(e Effect) { m.out = append(m.out, e) }

// tick does what is due. The resync comes last, because what the sink is given is the last effect
// of a step.
func (m *Machine) tick(now time.Time, heard Tick) {
	resync := due(now, m.resyncAt)
	if resync {
		m.resyncAt = now.Add(m.rules.Resync)
	}
	m.phase.hear(heard.Main)
	m.mainTimers(now)
	m.besideTimers(now, heard)
	if resync {
		m.pending.how = Resync
		m.emit(Resync)
	}
}

// mainTimers ends a wait that is over, and gives up a list or watch that takes too long.
func (m *Machine) mainTimers(now time.Time) {
	switch p := m.phase.(type) {
	case *waiting:
		switch {
		case now.Before(p.until):
		case p.then == toWatch && !m.quarantine.repair.dueAt(now):
			m.becomeWatching(now)
		default:
			m.sync(now)
		}
	case *listing:
		if due(now, m.idleSince(p.heard)) {
			m.giveUp(now, Failure{Reason: IdleTimeout, Err: errIdle})
		}
	case *streaming:
		if due(now, p.givenUpAt()) {
			m.emit(Cancel{Incomplete, errIncomplete})
			m.listInstead(now, p, Failure{Err: errIncomplete})
		}
	case *watching:
		switch {
		case due(now, p.deadline):
			m.giveUp(now, Failure{Reason: TimedOut, Err: errTimedOut})
		case due(now, m.idleAt(p)):
			m.giveUp(now, Failure{Reason: IdleTimeout, Err: errIdle})
		}
	}
}

// giveUp closes the list or watch, and continues as if it had ended with this failure.
func (m *Machine) giveUp(now time.Time, failure Failure) {
	m.emit(Cancel{failure.Reason, failure.Err})
	if p, ok := m.phase.(*listing); ok {
		m.listFailed(now, p, failure)
		return
	}
	m.ended(now, failure)
}

// Wake returns when the machine wants a Tick; zero means never.
func (m *Machine) Wake() time.Time {
	at := m.resyncAt
	switch p := m.phase.(type) {
	case *waiting:
		at = earliest(at, p.until)
	case *listing:
		at = earliest(at, m.idleSince(p.heard))
	case *streaming:
		at = earliest(at, p.givenUpAt())
	case *watching:
		at = earliest(at, earliest(p.deadline, m.idleAt(p)))
	}
	return earliest(at, m.wakeBeside())
}

// stopped prepares for the next Run. If a watch was open, or was the next request, the next Tick
// opens a watch; otherwise it lists. Another server may answer by then.
func (m *Machine) stopped(now time.Time) {
	then := toList
	switch p := m.phase.(type) {
	case *watching:
		then = toWatch
	case *waiting:
		then = p.then
	case *listing:
		m.mostRecentNext = m.mostRecentNext || p.anotherWanted
	case *streaming:
		m.mostRecentNext = m.mostRecentNext || p.anotherWanted
	}
	m.waitUntil(time.Time{}, then)
	m.forgetBeside()
	m.anotherServer(now)
}

// due reports whether a time has come; the zero time never does.
func due(now, at time.Time) bool { return !at.IsZero() && !now.Before(at) }

// earliest returns the earlier of two times that may be zero, which stands for never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
