package protocol

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

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

// anotherServer is called when another server may answer from now on. A refetch that is in flight may bring an answer of the old
// server, so that is not used, and a verification is given up. The machine refetches every key with a refetch version: the history
// check does not cover its answer, which is newer than the resume version, and the refetch version would hide the events of a new
// server.
func (m *Machine) anotherServer(now time.Time) {
	m.history.suspect(m.resume)
	if m.refetch != nil {
		m.refetch.otherServer = true
	}
	if m.verify.running() {
		m.verify.postpone(&m.rules, now)
		m.emit(CancelVerification{})
	}
	for _, key := range slices.Sorted(maps.Keys(m.refetchVersions)) {
		if _, ok := m.quarantine.entries[key]; !ok {
			m.toQuarantine(now, Item{Meta: object.Meta{Key: key, ResourceVersion: m.refetchVersions[key]}}, errAhead, outOfOrder)
		}
	}
}

var errAhead = errors.New("the server was asked for the object, and another server may answer now")
