package protocol

import (
	"errors"
	"time"
)

// repair is a list that the machine sends because refetches of single keys do not help. When it
// starts: an event, or an item of a list, had no readable name; or the quarantine is full; or the
// server cannot answer for single keys. The watch stays open until the list may be sent, so that
// all other objects stay up to date. When it ends: the sink has taken a list.
type repair struct {
	rules *Rules
	at    time.Time // when to list; zero if no repair is due
	step  int
	last  time.Time // when a list was last applied

	unnamed bool // an event or an item had no readable name, so the keys that differ are unknown
}

// repairDelays are the delays before the first repair, the second and so on. Each is drawn from [b,
// 2b). If no list has come for longer than the longest of these delays, the next repair begins with
// the first delay again.
var repairDelays = []time.Duration{
	time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
}

// errRepair is the error of a watch that is given up for a repair.
var errRepair = errors.New("a change could not be read, and could not be asked for by itself")

func (r *repair) due() bool                { return !r.at.IsZero() }
func (r *repair) dueAt(now time.Time) bool { return due(now, r.at) }

// want plans a list for repair, if none is due yet.
func (r *repair) want(now time.Time) {
	if r.due() {
		return
	}
	longest := repairDelays[len(repairDelays)-1]
	if now.Sub(r.last) > longest {
		r.step = 0
	}
	delay := repairDelays[min(r.step, len(repairDelays)-1)]
	r.step++
	r.at = now.Add(delay + r.rules.jitter(delay))
}

// wantUnnamed plans a list, because something had no readable name.
func (r *repair) wantUnnamed(now time.Time) {
	r.unnamed = true
	r.want(now)
}

// listed notes that the sink has got a list.
func (r *repair) listed(now time.Time) { r.at, r.last, r.unnamed = time.Time{}, now, false }

// repairAt returns when to give the watch up for a repair; zero if none is due. The watch continues
// until there is a token for the list, so that it ends as late as possible.
func (m *Machine) repairAt() time.Time {
	at := m.quarantine.repair.at
	if at.IsZero() {
		return at
	}
	return latest(at, m.backoff.nextToken(m.rules, m.wholeState(at)))
}

// repairByList gives the watch up for a list of the most recent state.
func (m *Machine) repairByList(now time.Time) {
	m.mostRecentNext = true
	m.emit(Cancel{Repair, errRepair})
	m.emit(Relist{Version: m.resume, Reason: Repair, Err: errRepair})
	m.syncAfterWait(now)
}
