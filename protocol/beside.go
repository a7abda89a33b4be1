package protocol

import (
	"time"

	"github.com/relist-go/relist/object"
)

// While a watch is open, the machine may do four other things, in this order: end the watch for a
// list that repairs (repair.go), ask whether the server has the same history (history.go), refetch
// one object (refetch.go), and compare everything with the server (verify.go). A list brings
// everything, so it ends them.

// besideTimers does what is due beside the list or watch. heard says when the requests have brought
// something.
func (m *Machine) besideTimers(now time.Time, heard Tick) {
	if m.refetches.open != nil {
		m.refetches.open.heard = latest(m.refetches.open.heard, heard.Refetch)
	}
	m.verify.heard = latest(m.verify.heard, heard.Verification)
	m.refetchTimers(now)
	m.verifyTimers(now)
	switch p, ok := m.phase.(*watching); {
	case !ok, !p.open:
	case due(now, m.repairAt()):
		m.repairByList(now)
	default:
		m.checkOrRefetch(now)
		m.beginVerification(now)
	}
}

// wakeBeside returns when something is due beside the list or watch.
func (m *Machine) wakeBeside() (at time.Time) {
	if p, ok := m.phase.(*watching); ok && p.open {
		at = m.repairAt()
		if m.refetches.open == nil {
			at = earliest(at, m.nextRefetch())
		}
		if !m.verify.running() {
			at = earliest(at, m.verificationAt())
		}
	}
	if m.refetches.open != nil {
		at = earliest(at, m.idleSince(m.refetches.open.heard))
	}
	if m.verify.asked {
		at = earliest(at, m.idleSince(m.verify.heard))
	}
	return at
}

// conclude does what follows from the state after a step, whatever the input was. Each of its rules
// depends on several things that change in many places, so it is applied after each step:
//
//   - A saved copy counts as the first list once a watch from its version is open, and no answer to a question has to come first.
//   - If the resume version has reached the version of a verification's list, the sink can be compared with that list.
func (m *Machine) conclude(now time.Time) {
	m.syncSaved(now)
	if m.verify.arrived && !object.Older(m.resume, m.verify.version) {
		m.emit(Compare{})
	}
}

// eventCame notes that an event of a key has come: an answer that is on its way may be older.
func (m *Machine) eventCame(key string) {
	if m.refetches.open != nil && m.refetches.open.key == key {
		m.refetches.open.eventSince = true
	}
	if m.verify.running() {
		m.verify.keysWithEvents[key] = true
	}
}

// cancelBeside gives up the refetch and the verification that are in flight, because a list brings
// everything.
func (m *Machine) cancelBeside() {
	if m.refetches.open != nil {
		m.refetches.open = nil
		m.emit(CancelRefetch{})
	}
	if m.verify.running() {
		m.verify.cancel()
		m.emit(CancelVerification{})
	}
}

// forgetBeside forgets the requests that were in flight when a Run ended.
func (m *Machine) forgetBeside() {
	m.refetches.open = nil
	m.verify.cancel()
}

// anotherServer is called when another server may answer from now on. A verification is given up,
// and so is the answer to the refetch that is in flight, because the old server may have sent it.
func (m *Machine) anotherServer(now time.Time) {
	m.history.suspect(m.resume)
	if m.refetches.open != nil {
		m.refetches.open.otherServer = true
	}
	if m.verify.running() {
		m.verify.postpone(m.rules, now)
		m.emit(CancelVerification{})
	}
	m.quarantine.suspect(now, m.resume)
}
