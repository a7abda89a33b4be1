package protocol

import (
	"errors"
	"time"
)

// repair is a list that is due because nothing less helps: an event, or an item of a list, had no readable name; more objects
// are in quarantine than can be looked after one by one; or the server cannot be asked for single keys. The watch goes on
// until then, so that everything else stays up to date.
type repair struct {
	at   time.Time // when to list; zero if no repair is due
	step int
	last time.Time // when a list was last applied
}

// repairPauses is the curve of lists that are for repair. Each pause is drawn from [b, 2b). It starts afresh when no repair was
// needed for a while after a list.
var repairPauses = []time.Duration{
	time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
}

// errRepair is what a watch ends with for a repair.
var errRepair = errors.New("a change could not be read, and could not be asked for by itself")

func (r *repair) due() bool                { return !r.at.IsZero() }
func (r *repair) dueAt(now time.Time) bool { return due(now, r.at) }

// want has a list made for repair, if none is due yet.
func (r *repair) want(rules *Rules, now time.Time) {
	if r.due() {
		return
	}
	longest := repairPauses[len(repairPauses)-1]
	if now.Sub(r.last) > longest {
		r.step = 0
	}
	pause := repairPauses[min(r.step, len(repairPauses)-1)]
	r.step++
	r.at = now.Add(pause + rules.jitter(pause))
}

// listed: the sink has a list.
func (r *repair) listed(now time.Time) { r.at, r.last = time.Time{}, now }

// repairByList gives the watch up for a list of the most recent state.
func (m *Machine) repairByList(now time.Time) {
	m.refused = true
	m.emit(HangUp{Repair, errRepair})
	m.emit(Relist{Version: m.resume, Reason: Repair, Err: errRepair})
	m.listNext(now)
}
