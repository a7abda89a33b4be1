package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/relist-go/relist/object"
)

// recent are the newest things that the server has told, the newest first, one a key, whatever became of them here. Those
// without a key are none.
type recent [4]known

// known is one thing that the server has told.
type known struct {
	object.Meta
	gone    bool // it was deleted
	touched bool // in a doubt: an event of its key has come since
}

// told takes what an event or an answer says of a key. If it does not say at which version, nothing is known of the key any
// more.
func (r *recent) told(meta object.Meta, gone bool) {
	r.forget(meta.Key)
	if object.Ordered(meta.ResourceVersion) {
		r.add(known{Meta: meta, gone: gone})
	}
}

// listed takes an item of a list, which come in no order of versions.
func (r *recent) listed(meta object.Meta) { r.add(known{Meta: meta}) }

// add puts a thing in its place by its version.
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
// had happened: an API server sends no bookmark at or before the version that a watch began at. So after anything that another
// server may stand behind, the watch is opened at once, and beside it the newest thing that the old one has told is asked
// for; if it has changed since, the next newest, four at most. Nothing but a verification can tell if all of them are older
// than the backup, or were written again at the same version.
type doubt struct {
	resume string // the resume point when the doubt arose
	recent recent // likewise; with an empty key, any one object will do
	which  int    // of recent is asked for

	at             time.Time // when to ask; zero while no watch is open, and while an answer is on its way
	behind, absent int       // answers in a row that say so
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

// next turns to the next newest thing that no event has touched, and reports whether there is one.
func (d *doubt) next() bool {
	d.absent = 0
	for i := d.which + 1; i < len(d.recent) && d.recent[i].Key != ""; i++ {
		if !d.recent[i].touched {
			d.which = i
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

	// probeAgain lies between two answers of the same kind, which together count: a replica may be behind for a moment, and
	// a deletion may be on its way.
	probeAgain = 5 * time.Second
	enough     = 2
)

// doubtServer says that another server may answer from now on. The newest things from before the first doubt are those to ask
// for: what came since came from the server that is doubted.
func (m *Machine) doubtServer() {
	if m.doubt == nil && object.Ordered(m.resume) {
		m.doubt = &doubt{resume: m.resume, recent: m.recent}
	}
}

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
	if len(items) == 0 {
		if was.Key == "" || was.gone || was.touched {
			return false, nil
		}
		return false, fmt.Errorf("%w: %s is not there, and was at %s", errOtherHistory, was.Key, was.ResourceVersion)
	}
	meta := items[0].Meta
	switch {
	case !object.Ordered(meta.ResourceVersion), object.Older(d.resume, meta.ResourceVersion):
		return false, nil // it has changed since
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

// wentBack lists the most recent state next, and has it decoded whole. A fleet that has met the same server does so over
// the time over which its probes are spread.
func (m *Machine) wentBack(now time.Time, err error) {
	m.refused, m.distrusted = true, true
	m.emit(Problem{Class: VersionProblem, Err: err})
	m.emit(HangUp{WentBack, err})
	m.emit(Relist{Version: m.resume, Reason: WentBack, Err: err})
	m.listNext(now)
}
