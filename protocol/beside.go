package protocol

import "time"

// While a watch is open, the machine may do four other things, in this order: end the watch for a list that repairs (repair.go), ask
// whether the server has the same history (history.go), refetch one object (refetch.go), and compare everything with the server
// (verify.go). A list brings everything, so it ends them.

// besideTimers does what is due while a watch is open.
func (m *Machine) besideTimers(now time.Time) {
	m.refetchTimers(now)
	m.verifyTimers(now)
	p, ok := m.phase.(*watching)
	if !ok || !p.open {
		return
	}
	if due(now, m.repairAt()) {
		m.repairByList(now)
		return
	}
	m.checkOrRefetch(now)
	m.beginVerification(now)
}

// wakeBeside returns when something is due while a watch is open.
func (m *Machine) wakeBeside() time.Time {
	at := m.repairAt()
	if m.refetch == nil {
		at = earliest(at, m.nextRefetch())
	}
	if !m.verify.running() {
		at = earliest(at, m.verificationAt())
	}
	return at
}

// cancelBeside gives up the refetch and the verification that are in flight, because a list brings everything.
func (m *Machine) cancelBeside() {
	if m.refetch != nil {
		m.refetch = nil
		m.emit(CancelRefetch{})
	}
	if m.verify.running() {
		m.verify.cancel()
		m.emit(CancelVerification{})
	}
}

// anotherServer is called when another server may answer from now on. A verification is given up, and so is the answer to the refetch
// that is in flight, because the old server may have sent it.
func (m *Machine) anotherServer(now time.Time) {
	m.history.suspect(m.resume)
	if m.refetch != nil {
		m.refetch.otherServer = true
	}
	if m.verify.running() {
		m.verify.postpone(now)
		m.emit(CancelVerification{})
	}
	m.quarantine.suspect(now, m.resume)
}
