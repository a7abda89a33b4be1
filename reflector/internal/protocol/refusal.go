package protocol

import "time"

// sinkRefused takes a step back in which the sink refused something, and decides what follows instead. An object that was refused
// goes into quarantine: see [Machine.applyRefused]. Everything else ends in a list.
func (m *Machine) sinkRefused(now time.Time, err error) {
	undone := m.undo
	m.undo = undo{}
	clear(m.out)
	m.out = m.out[:0]
	switch undone.sink {
	case applied:
		m.applyRefused(now, undone, err)
	case replaced:
		m.position, m.recent = undone.position, undone.recent
		m.quarantine, m.repair, m.doubt = undone.quarantine, undone.repair, undone.doubt
		m.health, m.served = undone.health, undone.served
		m.waitUntil(time.Time{}, toList) // the watch that was to follow has not begun, so it makes good for nothing
		m.listAfterRefusal(now, err)
	case resynced:
		switch p := m.phase.(type) {
		case *listing, *streaming:
			m.emit(Problem{Class: SinkProblem, Err: err}) // what is needed is on its way
		case *waiting:
			// The wait goes on: a resync that fails again and again must not put the list off for ever.
			m.emit(Problem{Class: SinkProblem, Err: err})
			m.emit(Relist{Version: m.resume, Reason: SinkFailed, Err: err})
			m.waitUntil(p.until, toList)
		default:
			m.listAfterRefusal(now, err)
		}
	case noSinkCall:
		// unreachable: no step before this one had an effect for the sink. The fact is about a step that was taken
		// back already.
	}
}

// listAfterRefusal lists again, because the sink lacks something that will not be sent a second time.
func (m *Machine) listAfterRefusal(now time.Time, err error) {
	m.fail(now, err)
	m.emit(Problem{Class: SinkProblem, Err: err})
	m.emit(HangUp{SinkFailed, err})
	if p, ok := m.phase.(*watching); ok {
		m.pauses.after(p, now)
	}
	m.relist(now, Failure{Reason: SinkFailed, Err: err})
}
