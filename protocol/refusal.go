package protocol

import "time"

// takeBack undoes a step if the sink refused a change of that step, and decides what to do instead. If the sink refused an
// object, its key goes into quarantine: see [Machine.applyRefused]. If it refused a list or a resync, the machine lists.
func (m *Machine) takeBack(now time.Time, undone undo, err error) {
	switch undone.sink {
	case applied:
		m.applyRefused(now, undone, err)
	case replaced:
		m.position, m.recent = undone.position, undone.recent
		m.quarantine, m.repair, m.unverified = undone.quarantine, undone.repair, undone.unverified
		m.health, m.servedTicket = undone.health, undone.servedTicket
		m.waitUntil(time.Time{}, toList) // the watch after the list does not begin, so its end resets no pauses
		m.listAfterRefusal(now, err)
	case resynced:
		switch p := m.phase.(type) {
		case *listing, *streaming:
			m.emit(Problem{Class: SinkProblem, Err: err}) // the list that is needed is on its way
		case *waiting:
			// The wait goes on: a resync that fails again and again must not put the list off for ever.
			m.emit(Problem{Class: SinkProblem, Err: err})
			m.emit(Relist{Version: m.resume, Reason: SinkFailed, Err: err})
			m.waitUntil(p.until, toList)
		default:
			m.listAfterRefusal(now, err)
		}
	case noSinkCall:
		// unreachable: the last step had no effect for the sink, so the sink cannot have refused one.
	}
}

// listAfterRefusal lists again, because the server will not send a second time what the sink has refused.
func (m *Machine) listAfterRefusal(now time.Time, err error) {
	m.fail(now, err)
	m.emit(Problem{Class: SinkProblem, Err: err})
	m.emit(HangUp{SinkFailed, err})
	if p, ok := m.phase.(*watching); ok {
		m.pauses.after(p, now)
	}
	m.relist(now, Failure{Reason: SinkFailed, Err: err})
}
