package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

// recent holds the newest states of objects that the server has told, the newest first, one for each key, whatever became of
// them here. A place without a key is empty.
type recent [4]known

// known is the state of one object as the server has told it.
type known struct {
	object.Meta
	gone    bool // it was deleted
	touched bool // in a doubt: an event of its key has come since
}

// told takes what an event or an answer says of a key. If that has no version, nothing is known of the key any more.
func (r *recent) told(meta object.Meta, gone bool) {
	r.forget(meta.Key)
	if object.Ordered(meta.ResourceVersion) {
		r.add(known{Meta: meta, gone: gone})
	}
}

// listed takes an item of a list. Items come in no order of versions.
func (r *recent) listed(meta object.Meta) { r.add(known{Meta: meta}) }

// add puts a state in its place by its version.
func (r *recent) add(k known) {
	for i := range r {
		if r[i].Key == "" || object.Older(r[i].ResourceVersion, k.ResourceVersion) {
			k, r[i] = r[i], k
		}
	}
}

// forget removes a key.
func (r *recent) forget(key string) {
	for i := range r {
		if r[i].Key == key {
			copy(r[i:], r[i+1:])
			r[len(r)-1] = known{}
			return
		}
	}
}

// doubt is whether the server that answers now is the one that there was.
//
// A server whose storage was restored from a backup is silent until it passes the resume point, and then looks as if nothing
// had happened: an API server sends no bookmark at or before the version that a watch began at. So if another server may have
// taken over ([Machine.mayBeAnother]), the watch is opened at once, and beside it a probe asks for the newest object that the old
// server has told. If that has changed since, the next newest is asked for, four at most. Only a verification can tell if all
// of them are older than the backup, or were written again at the same version.
type doubt struct {
	resume string // the resume point when the doubt arose
	recent recent // what the old server told last; if that is nothing, any one object is asked for
	which  int    // the place in recent that is asked for

	at             time.Time // when to ask; zero while no watch is open, and while an answer is on its way
	behind, absent int       // answers in a row that were older than resume, or lacked the object
	step           int       // failures in a row
}

// touch says that an event of a key has come: what the server has of it now tells nothing about the past.
func (d *doubt) touch(key string) {
	for i := range d.recent {
		if k := &d.recent[i]; k.Key == key {
			k.touched = true
		}
	}
}

// next turns to the next newest object that no event has touched, and reports whether there is one.
func (d *doubt) next() bool {
	for i := d.which + 1; i < len(d.recent) && d.recent[i].Key != ""; i++ {
		if !d.recent[i].touched {
			d.which, d.absent = i, 0
			return true
		}
	}
	return false
}

const (
	// The probe follows an open watch by between probeAfter and probeAfter + probeSpread, so that those of a fleet do not
	// come together.
	probeAfter  = 500 * time.Millisecond
	probeSpread = 2500 * time.Millisecond

	// enough answers of one kind, probeAgain apart, count: a replica may be behind for a moment, and a deletion may be on its
	// way.
	probeAgain = 5 * time.Second
	enough     = 2
)

// doubtServer says that another server may answer from now on. What was told before the first doubt is what probes ask for,
// because what came since came from the server that is doubted. The resume point is that of the last doubt, because a second
// server may be behind what the first one has told.
func (m *Machine) doubtServer() {
	switch {
	case !object.Ordered(m.resume):
	case m.doubt == nil:
		m.doubt = &doubt{resume: m.resume, recent: m.recent}
	case object.Older(m.doubt.resume, m.resume):
		m.doubt.resume, m.doubt.behind = m.resume, 0
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

// unplanProbe waits for the next watch. What was absent may have been deleted while none is open; a version that is behind
// stays behind.
func (m *Machine) unplanProbe() {
	if m.doubt != nil {
		m.doubt.at, m.doubt.which, m.doubt.absent = time.Time{}, 0, 0
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
	if !object.Ordered(in.Version) {
		m.doubt = nil // nothing can be told from it
		return
	}
	if object.Older(in.Version, d.resume) {
		if d.behind++; d.behind < enough {
			m.probeIn(now, probeAgain)
			return
		}
		_, err := advance(d.resume, in.Version)
		m.wentBack(now, err)
		return
	}
	was := d.recent[d.which]
	switch tells, err := m.tells(a, d, was, in.Items); {
	case err != nil && len(in.Items) == 0 && d.absent+1 < enough:
		d.absent++ // its deletion may be on the way
		m.probeIn(now, probeAgain)
	case err != nil:
		m.wentBack(now, err)
	case tells || a.key == "" || !d.next():
		m.doubt = nil
	default:
		m.probeIn(now, 0)
	}
}

// tells reports whether an answer shows that the server is the one that there was, and returns an error if it shows that it
// is not.
func (m *Machine) tells(a *ask, d *doubt, was known, items []Item) (bool, error) {
	if was.touched && (a.key != "" || len(items) == 0) {
		return false, nil // the server that is doubted has told of it since
	}
	if len(items) == 0 {
		if was.Key == "" || was.gone {
			return false, nil
		}
		return false, fmt.Errorf("%w: %s is not there, and was at %s", errOtherHistory, was.Key, was.ResourceVersion)
	}
	meta := items[0].Meta
	switch {
	case !object.Ordered(meta.ResourceVersion), object.Older(d.resume, meta.ResourceVersion):
		return false, nil // it has changed since
	case a.key == "" && (a.touched && !items[0].IsHeld || object.Older(d.resume, items[0].Held.ResourceVersion)):
		return false, nil // an event has deleted or changed it since
	case a.key == "":
		return true, m.otherThanHeld(items[0])
	case was.gone:
		return false, fmt.Errorf("%w: %s is there at %s, and was deleted", errOtherHistory, was.Key, meta.ResourceVersion)
	case object.Another(was.UID, meta.UID), was.ResourceVersion != meta.ResourceVersion:
		return false, fmt.Errorf("%w: %s is at %s, and was at %s", errOtherHistory, was.Key, meta.ResourceVersion, was.ResourceVersion)
	}
	return true, nil // it has not changed since, and is as it was
}

// errOtherHistory is reported if the storage is not the one there was, although it is at a later version. A watch that has
// left an event out looks the same.
var errOtherHistory = errors.New("the server has another history: its storage was restored from a backup, or a watch has left something out")

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

// wentBack lists the most recent state, and has it decoded whole: at once, unless the machine waits already. A fleet that has
// met the same server does so over the time over which its probes are spread.
func (m *Machine) wentBack(now time.Time, err error) {
	m.refused, m.distrusted = true, true
	m.emit(Problem{Class: VersionProblem, Err: err})
	m.emit(HangUp{WentBack, err})
	m.emit(Relist{Version: m.resume, Reason: WentBack, Err: err})
	m.syncAfterWait(now)
}
