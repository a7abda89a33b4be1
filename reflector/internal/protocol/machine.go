package protocol

import (
	"maps"
	"time"
)

// Machine is everything that a reflector decides, and what it has to remember for that. It does no I/O, starts no goroutine,
// reads no clock and throws no dice but [Rules.Rand]. One goroutine owns it.
type Machine struct {
	rules Rules
	phase phase
	out   []Effect // of the step that is being made; used again for the next

	// What the sink has, see list.go and watch.go.
	position
	recent recent // the newest things that the server has told, see trust.go

	// How requests are paced, see pause.go and silence.go.
	pauses  pauses
	silence silence
	health  health

	// What has been learned about how to ask this server for the whole state, see list.go and initial.go.
	lists lists

	// What is done beside the watch, see quarantine.go, ask.go, trust.go, repair.go, verify.go.
	quarantine quarantine
	ask        *ask
	askable    time.Time // until then the server counts as one that cannot be asked for a key; zero if it never did
	askAfter   time.Time // the server has said by Retry-After to ask no sooner; zero if it has not
	doubt      *doubt
	repair     repair
	verify     verification

	resyncAt time.Time // zero before the first list, and if there are no resyncs

	wanted, served int // tickets of those who asked for a list

	undo undo // what the last step changed that a refusal of the sink takes back
}

// position is what the sink has, in resourceVersions, and so what may be asked for next.
type position struct {
	// resume is the resume point: the resourceVersion up to which the sink has everything but what is in quarantine. A
	// watch goes on there. It is empty before the first list.
	resume string

	// safe is the newest version up to which the sink has everything without exception. It is the resume point while nothing
	// is in quarantine and no repair is due.
	safe string

	// refused: the server could not list at the resume point, or not watch from what it listed, so the next list asks for
	// the most recent state.
	refused bool

	// distrusted: the server's storage went back, or may have, and the sink still has what it held before. A version
	// need not mean what it meant, so lists are decoded whole.
	distrusted bool

	// synced: the sink has had a whole list.
	synced bool

	// fences are versions by key. An ask has told the state of the key as of its fence, and the resume point has not come there:
	// events of the key up to its fence say nothing new.
	fences map[string]string
}

// undo is how things were before a step, as far as a refusal of the sink takes them back. It is kept until the next step.
type undo struct {
	sink     sinkCall
	position position
	recent   recent // if the step had a Replace

	// If the step had an Apply:
	key   string
	item  Item
	entry *entry // the key's entry in quarantine before; nil if there was none

	// If it had a Replace:
	quarantine quarantine
	repair     repair
	doubt      *doubt
	health     health
	served     int
}

// sinkCall is what a step has had the sink do, which may fail.
type sinkCall uint8

const (
	noSinkCall sinkCall = iota
	applied
	replaced
	resynced
)

// New returns a machine that lists at its first tick.
func New(rules Rules) *Machine {
	return &Machine{rules: rules, phase: &waiting{then: toList}, quarantine: newQuarantine()}
}

// Clone returns a machine that goes its own way from here.
func (m *Machine) Clone() *Machine {
	c := *m
	c.out = nil
	c.phase = m.phase.clone()
	c.fences = maps.Clone(m.fences)
	c.quarantine = m.quarantine.clone()
	if m.ask != nil {
		a := *m.ask
		c.ask = &a
	}
	if m.doubt != nil {
		d := *m.doubt
		c.doubt = &d
	}
	c.verify.touched = maps.Clone(m.verify.touched)
	c.undo.position.fences = maps.Clone(m.undo.position.fences)
	c.undo.quarantine = m.undo.quarantine.clone()
	if m.undo.entry != nil {
		e := *m.undo.entry
		c.undo.entry = &e
	}
	if m.undo.doubt != nil {
		d := *m.undo.doubt
		c.undo.doubt = &d
	}
	return &c
}

// Step takes one input and returns the effects to perform, in order. The slice is used again by the next Step.
func (m *Machine) Step(now time.Time, in Input) []Effect {
	clear(m.out)
	m.out = m.out[:0]
	if refused, ok := in.(SinkRefused); ok {
		m.sinkRefused(now, refused.Err)
		m.settle()
		return m.out
	}
	m.undo = undo{}
	switch in := in.(type) {
	case *Seen:
		m.seen(now, in)
	case Tick:
		m.tick(now, in.Heard)
	case Listed:
		if p, ok := m.phase.(*listing); ok {
			m.listed(now, p, in.Sum)
		}
	case ListFailed:
		if p, ok := m.phase.(*listing); ok {
			m.listFailed(now, p, in.Failure)
		}
	case Opened:
		m.opened(now)
	case Ended:
		m.ended(now, in.Failure)
	case Answered:
		m.answered(now, in)
	case MetadataListed:
		m.metadataListed(now, in)
	case Compared:
		m.compared(now, in)
	case ListWanted:
		m.listWanted(now, in.Ticket)
	case Stopped:
		m.stopped(now)
	}
	m.settle()
	return m.out
}

// emit adds an effect to those of the step.
func (m *Machine) emit(e Effect) { m.out = append(m.out, e) }

// settle moves the safe version up to the resume point if nothing stands in its way.
func (m *Machine) settle() {
	if m.quarantine.len() == 0 && !m.repair.due() {
		m.safe = m.resume
	}
	m.compareWhenReached()
}

// tick does what is due. A resync comes last, because the sink may refuse it, and then nothing that follows would be done.
func (m *Machine) tick(now time.Time, heard Heard) {
	resync := due(now, m.resyncAt)
	if resync {
		m.resyncAt = now.Add(m.rules.Resync)
	}
	m.phase.hear(heard.Main)
	if m.ask != nil {
		m.ask.heard = latest(m.ask.heard, heard.Ask)
	}
	m.verify.heard = latest(m.verify.heard, heard.Verification)
	m.mainTimers(now)
	m.besideTimers(now)
	if resync {
		m.undo.sink = resynced
		m.emit(Resync{})
	}
}

// mainTimers does what the phase was waiting for.
func (m *Machine) mainTimers(now time.Time) {
	switch p := m.phase.(type) {
	case *waiting:
		switch {
		case now.Before(p.until):
		case p.then == toWatch && !m.repair.dueAt(now):
			m.becomeWatching(now)
		default:
			m.sync(now)
		}
	case *listing:
		if due(now, m.impatient(p.heard)) {
			m.giveUp(now, Failure{Reason: Silent, Err: errSilent})
		}
	case *streaming:
		if due(now, p.patience()) {
			m.emit(HangUp{Incomplete, errIncomplete})
			m.doWithoutStream(now, p, Failure{Err: errIncomplete})
		}
	case *watching:
		switch {
		case due(now, p.deadline):
			m.giveUp(now, Failure{Reason: TimedOut, Err: errTimedOut})
		case due(now, m.silentAt(p)):
			m.giveUp(now, Failure{Reason: Silent, Err: errSilent})
		}
	}
}

// giveUp hangs up, and goes on as if the request had ended with the failure.
func (m *Machine) giveUp(now time.Time, failure Failure) {
	m.emit(HangUp{failure.Reason, failure.Err})
	if p, ok := m.phase.(*listing); ok {
		m.listFailed(now, p, failure)
		return
	}
	m.ended(now, failure)
}

// besideTimers does what is due beside an open watch.
func (m *Machine) besideTimers(now time.Time) {
	m.askTimers(now)
	m.verifyTimers(now)
	p, ok := m.phase.(*watching)
	if !ok || !p.open {
		return
	}
	if due(now, m.repairAt()) {
		m.repairByList(now)
		return
	}
	m.probeOrAsk(now)
	m.beginVerification(now)
}

// Wake returns when the machine wants a Tick; zero means never.
func (m *Machine) Wake() time.Time {
	at := m.resyncAt
	switch p := m.phase.(type) {
	case *waiting:
		at = earliest(at, p.until)
	case *listing:
		at = earliest(at, m.impatient(p.heard))
	case *streaming:
		at = earliest(at, p.patience())
	case *watching:
		at = earliest(at, earliest(p.deadline, m.silentAt(p)))
		if p.open {
			at = earliest(at, m.wakeBeside())
		}
	}
	if m.ask != nil {
		at = earliest(at, m.impatient(m.ask.heard))
	}
	if m.verify.asked {
		at = earliest(at, m.impatient(m.verify.heard))
	}
	return at
}

// wakeBeside returns when something is to be begun beside an open watch.
func (m *Machine) wakeBeside() time.Time {
	at := m.repairAt()
	if m.ask == nil {
		at = earliest(at, m.nextAsk())
	}
	if !m.verify.running() {
		at = earliest(at, m.verify.next)
	}
	return at
}

// stopped leaves the machine where the next Tick goes on: it opens the watch that it had, or was about to have, or else it
// lists. Meanwhile the server may have become another one.
func (m *Machine) stopped(now time.Time) {
	then := toList
	switch p := m.phase.(type) {
	case *watching:
		then = toWatch
	case *waiting:
		then = p.then
	case *listing:
		m.refused = m.refused || p.again
	case *streaming:
		m.refused = m.refused || p.again
	}
	m.waitUntil(time.Time{}, then)
	m.ask = nil
	m.verify.cancel()
	m.doubtServer()
	m.doubtAnswers(now)
	m.unplanProbe()
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
