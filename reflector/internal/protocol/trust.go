package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

// doubt is whether the server that answers now is the one that there was.
//
// A server whose storage was restored from a backup is silent until it passes the resume point, and then looks as if nothing
// had happened: an API server sends no bookmark at or before the version that a watch began at. So after anything that another
// server may stand behind, the watch is opened at once, and beside it the newest thing that was given to the sink is asked
// for. Nothing but a verification can tell if that is older than the backup, or was written again at the same version.
type doubt struct {
	resume  string // the resume point when the doubt arose
	newest  known  // likewise; with an empty key, any one object will do
	touched bool   // an event of newest's key has come since

	at             time.Time // when to ask; zero while no watch is open, and while an answer is on its way
	behind, absent int       // answers in a row that say so
	step           int       // failures in a row
}

const (
	// The probe follows an open watch by between probeAfter and probeAfter + probeSpread, so that those of a fleet do not
	// come together.
	probeAfter  = time.Second
	probeSpread = 3 * time.Second

	// probeAgain lies between two answers of the same kind, which together count: a replica may be behind for a moment, and
	// a deletion may be on its way.
	probeAgain = 5 * time.Second
	enough     = 2
)

// doubtServer says that another server may answer from now on. The newest thing from before the first doubt is the one to
// ask for: what came since came from the server that is doubted.
func (m *Machine) doubtServer() {
	if m.doubt == nil && object.Ordered(m.resume) {
		m.doubt = &doubt{resume: m.resume, newest: m.newest}
	}
}

// doubtAnswers follows a doubt for what asks have brought, or are about to bring. That is ahead of the resume point, so the probe
// says nothing of it, and the fences would hide what another server does to those keys. So they are asked for again, of the
// server that answers now.
func (m *Machine) doubtAnswers(now time.Time) {
	if m.ask != nil {
		m.ask.doubted = true
	}
	for _, key := range slices.Sorted(maps.Keys(m.fences)) {
		if _, ok := m.quarantine.entries[key]; !ok {
			m.setAside(now, Item{Meta: object.Meta{Key: key, ResourceVersion: m.fences[key]}}, errAhead, notKnown)
		}
	}
}

var errAhead = errors.New("it was asked for, and another server may answer now")

// mayBeAnother reports whether another server may stand behind the end of a watch.
func (m *Machine) mayBeAnother(p *watching, reason Reason, now time.Time) bool {
	switch reason {
	case Unreachable, Unavailable, Silent, TimedOut:
		return true
	case Closed, Cut:
		return p.timeout == 0 || p.alive(now) < p.timeout-margin
	default:
		return false
	}
}

// planProbe says when to ask, now that a watch is open.
func (m *Machine) planProbe(now time.Time) {
	if m.doubt != nil {
		m.doubt.at = now.Add(probeAfter + m.rules.jitter(probeSpread))
	}
}

// unplanProbe waits for the next watch.
func (m *Machine) unplanProbe() {
	if m.doubt != nil {
		m.doubt.at, m.doubt.behind, m.doubt.absent = time.Time{}, 0, 0
	}
}

// probeIn asks again after a while, or after the next watch was opened.
func (m *Machine) probeIn(now time.Time, d time.Duration) {
	if p, ok := m.phase.(*watching); ok && p.open {
		m.doubt.at = now.Add(d)
	}
}

// probed decides whether the server is the one that there was.
func (m *Machine) probed(now time.Time, a *ask, in Answered) {
	d := m.doubt
	if d == nil {
		return
	}
	if a.doubted {
		m.probeIn(now, 0) // the answer may be the old server's
		return
	}
	switch {
	case !a.answers(in) && a.key != "":
		m.askable = now.Add(unaskable)
		m.probeIn(now, askBase)
		return
	case in.Failure.Reason != 0:
		delay := askBase
		for range d.step {
			delay = min(2*delay, askCap)
		}
		d.step++
		m.probeIn(now, delay+m.rules.jitter(delay))
		return
	}
	d.step = 0
	var item *Item
	if len(in.Items) > 0 {
		item = &in.Items[0]
	}
	switch {
	case !object.Ordered(in.Version):
		m.doubt = nil // nothing can be told from it
	case object.Older(in.Version, d.resume):
		if d.behind++; d.behind < enough {
			m.probeIn(now, probeAgain)
			return
		}
		_, err := advance(d.resume, in.Version)
		m.wentBack(now, err)
	case item != nil && object.Ordered(item.Meta.ResourceVersion) && !object.Older(d.resume, item.Meta.ResourceVersion):
		// It has not changed since the resume point, so it must be as it was.
		if err := m.otherHistory(a, d, *item); err != nil {
			m.wentBack(now, err)
			return
		}
		m.doubt = nil
	case item == nil && d.newest.Key != "" && !d.newest.gone && !d.touched:
		if d.absent++; d.absent < enough {
			m.probeIn(now, probeAgain)
			return
		}
		m.wentBack(now, fmt.Errorf("%w: %s is not there, and was at %s", errOtherHistory, d.newest.Key, d.newest.ResourceVersion))
	default:
		m.doubt = nil
	}
}

// errOtherHistory is reported if the storage is not the one there was, although it is at a later version. A watch that has
// left an event out looks the same.
var errOtherHistory = errors.New("the server has another history: its storage was restored from a backup, or a watch has left something out")

// otherHistory says why an object that has not changed since the resume point cannot be of the history that the sink has
// followed, or returns nil.
func (m *Machine) otherHistory(a *ask, d *doubt, item Item) error {
	if a.key == "" {
		return m.otherThanHeld(item)
	}
	switch {
	case d.newest.gone:
		return fmt.Errorf("%w: %s is there at %s, and was deleted", errOtherHistory, a.key, item.Meta.ResourceVersion)
	case object.Another(d.newest.UID, item.Meta.UID), d.newest.ResourceVersion != item.Meta.ResourceVersion:
		return fmt.Errorf("%w: %s is at %s, and was at %s", errOtherHistory, a.key, item.Meta.ResourceVersion, d.newest.ResourceVersion)
	}
	return nil
}

// otherThanHeld says why an object that has not changed since the resume point is not what the sink holds, or returns nil.
func (m *Machine) otherThanHeld(item Item) error {
	switch {
	case !m.rules.SinkTells, m.unsettled(item.Meta.Key):
		return nil
	case !item.IsHeld:
		return fmt.Errorf("%w: %s is there at %s, and was not", errOtherHistory, item.Meta.Key, item.Meta.ResourceVersion)
	case !sameVersion(item):
		return otherVersion(item)
	}
	return nil
}

// unsettled reports whether the sink need not hold the latest of a key, or may be ahead of the resume point with it.
func (m *Machine) unsettled(key string) bool {
	_, fenced := m.fences[key]
	return fenced || m.quarantine.entries[key] != nil
}

// sameVersion reports whether an object may be what the sink holds under its key. A transform that clears UIDs or versions
// leaves nothing to compare.
func sameVersion(item Item) bool {
	return !object.Another(item.Held.UID, item.Meta.UID) &&
		(item.Held.ResourceVersion == "" || item.Held.ResourceVersion == item.Meta.ResourceVersion)
}

// otherVersion is the error of an object that is not what the sink holds under its key.
func otherVersion(item Item) error {
	return fmt.Errorf("%w: %s is at %s, and was at %s", errOtherHistory, item.Meta.Key, item.Meta.ResourceVersion, item.Held.ResourceVersion)
}

// wentBack lists the most recent state, and has it decoded whole.
func (m *Machine) wentBack(now time.Time, err error) {
	m.refused, m.distrusted = true, true
	m.emit(Problem{Class: VersionProblem, Err: err})
	m.emit(HangUp{WentBack, err})
	m.relist(now, Failure{Reason: WentBack, Err: err})
}
