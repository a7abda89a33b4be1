package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

// recent holds the newest objects that the server has sent, the newest first, one for each key. It does not matter whether the
// sink has taken them. A place without a key is empty.
type recent [8]known

// known is one object as the server has sent it.
type known struct {
	object.Meta
	gone       bool // it was deleted
	eventSince bool // in a doubt: an event of its key has come since the doubt arose
}

// note takes what an event or an answer says about a key. If the object has no version that can be compared, note forgets the
// key.
func (r *recent) note(meta object.Meta, gone bool) {
	r.forget(meta.Key)
	if object.Ordered(meta.ResourceVersion) {
		r.add(known{Meta: meta, gone: gone})
	}
}

// noteListed takes an item of a list. Items are not ordered by version.
func (r *recent) noteListed(meta object.Meta) { r.add(known{Meta: meta}) }

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

// doubt says that the server may not be the same any more.
//
// If a server's storage was restored from a backup, its versions are older than the resume point. As long as they are older, the
// server sends nothing on the watch, not even a bookmark: an API server sends no bookmark at or before the version that a watch
// began at. Once its versions are newer, the watch looks as if nothing had happened. So if another server may answer from now on
// ([Machine.mayBeAnotherServer]), the machine opens the watch at once, and beside it a probe asks for the newest object that the
// old server has sent. Then further probes ask for the second newest object, the third newest and so on. After an outage, the
// probes ask for at most four objects in all. If a saved copy waits for the answer, they ask for at most eight, because much may
// have changed while no program ran. Objects that have changed since do not count. If two objects are as they were, the machine
// takes the server for the same one. An event that cannot follow what the old server has sent shows another one, too. One object is not enough: a writer may bring one object to the same version in both histories.
// If all these objects are older than the backup, or were written again at the same version, only a verification finds out.
type doubt struct {
	resume string // the resume point when the doubt arose
	recent recent // the newest objects of the old server; if there are none, the probe asks for any one object
	asking int    // the place in recent that is asked for
	most   int    // how many places of recent are asked for at most

	probeAt                      time.Time // when to ask; zero while no watch is open, and while an answer is on its way
	answersBehind, answersAbsent int       // answers in a row that were older than resume, or lacked the object
	failures                     int       // failures in a row
	unchanged                    int       // objects that are as they were
}

// eventCame records that an event of a key has come. From then on the server's object of that key says nothing about the past.
func (d *doubt) eventCame(key string) {
	for i := range d.recent {
		if k := &d.recent[i]; k.Key == key {
			k.eventSince = true
		}
	}
}

// otherHistory returns an error if an event cannot follow what the old server has sent of its key: an object that was deleted is
// changed or deleted, or another object has taken the name of one that was there. Only the first event of a key says this, and only
// of a state that the watch cannot repeat.
func (d *doubt) otherHistory(e *Seen) error {
	meta := e.Item.Meta
	for _, k := range d.recent {
		switch {
		case k.Key != meta.Key, k.eventSince, object.Older(d.resume, k.ResourceVersion):
		case k.gone && e.Type != Added:
			return fmt.Errorf("%w: %s was deleted at %s, and is there until %s", errOtherHistory, k.Key, k.ResourceVersion, meta.ResourceVersion)
		case !k.gone && object.Another(k.UID, meta.UID):
			return fmt.Errorf("%w: %s is another object at %s than at %s", errOtherHistory, k.Key, meta.ResourceVersion, k.ResourceVersion)
		}
	}
	return nil
}

// confirm counts an object that is as it was, and reports whether there are enough of them.
func (d *doubt) confirm() bool {
	d.unchanged++
	return d.unchanged >= enough
}

// next turns to the next newest object that no event has touched, and reports whether there is one.
func (d *doubt) next() bool {
	for i := d.asking + 1; i < d.most && d.recent[i].Key != ""; i++ {
		if !d.recent[i].eventSince {
			d.asking, d.answersAbsent = i, 0
			return true
		}
	}
	return false
}

const (
	// After a watch has opened, the machine waits between probeAfter and probeAfter + probeSpread, and then sends the probe. So
	// the probes of many clients do not come together.
	probeAfter  = 500 * time.Millisecond
	probeSpread = 2500 * time.Millisecond

	// An answer may be older than the resume point, because a replica is behind for a moment. It may lack the object, because a
	// deletion is on its way. So after the first such answer, the machine asks again after the time probeAgain. If the number of
	// such answers in a row reaches the constant enough, the machine takes the server for another one.
	probeAgain = 5 * time.Second
	enough     = 2

	// mostProbed is how many objects are asked for after an outage. A saved copy asks for all of recent.
	mostProbed = 4
)

// doubtServer records that another server may answer from now on. Probes ask for the objects that came before the first doubt,
// because later objects come from the server that is in doubt. If there is a doubt already, its resume point moves up to the
// present one. A third server may answer now, and may be behind what the second one has sent.
func (m *Machine) doubtServer() {
	switch {
	case !object.Ordered(m.resume):
	case m.doubt == nil:
		m.doubt = &doubt{resume: m.resume, recent: m.recent, most: mostProbed}
		if !m.synced {
			m.doubt.most = len(m.recent)
		}
	case object.Older(m.doubt.resume, m.resume):
		m.doubt.resume, m.doubt.answersBehind = m.resume, 0
	}
}

// doubtAnswers puts every key with a fence into quarantine, so that the machine asks for it again. For such a key, the sink has an
// answer of the old server that is newer than the resume point, and a probe says nothing about that key. If another server answers
// now, the fence would hide its events. doubtAnswers also marks the ask that is in flight, so that its answer is not used.
func (m *Machine) doubtAnswers(now time.Time) {
	if m.ask != nil {
		m.ask.doubted = true
	}
	for _, key := range slices.Sorted(maps.Keys(m.fences)) {
		if _, ok := m.quarantine.entries[key]; !ok {
			m.toQuarantine(now, Item{Meta: object.Meta{Key: key, ResourceVersion: m.fences[key]}}, errAhead, outOfOrder)
		}
	}
}

var errAhead = errors.New("the server was asked for the object, and another server may answer now")

// mayBeAnotherServer reports whether another server may answer after this end of a watch.
func (m *Machine) mayBeAnotherServer(p *watching, reason Reason, now time.Time) bool {
	switch reason {
	case Unreachable, Unavailable, Silent, TimedOut:
		return true
	case Closed, Cut:
		return p.timeout == 0 || p.alive(now) < p.timeout-margin
	default:
		return false
	}
}

// planProbe sets the time of the probe, because a watch is open now. If a saved copy waits for the answer, the probe is sent at once.
// In that case this program has just started, and the server has not. Other programs started at other times, so the probes of many
// clients do not come together.
func (m *Machine) planProbe(now time.Time) {
	if m.doubt != nil && !m.synced {
		m.doubt.probeAt = now
		return
	}
	if m.doubt != nil {
		m.doubt.probeAt = now.Add(probeAfter + m.rules.jitter(probeSpread))
	}
}

// unplanProbe puts the probe off until the next watch is open. Earlier answers that lacked the object no longer count, because
// the object may be deleted while no watch is open. Earlier answers that were older than the resume point still count. The probes
// begin again with the newest object, so the object that a probe in flight brings is not compared.
func (m *Machine) unplanProbe() {
	if m.ask != nil {
		m.ask.unplanned = true
	}
	if m.doubt != nil {
		m.doubt.probeAt, m.doubt.asking, m.doubt.answersAbsent = time.Time{}, 0, 0
	}
}

// probeIn sets the time of the next probe, if a watch is open. If not, planProbe sets it when the next one opens.
func (m *Machine) probeIn(now time.Time, d time.Duration) {
	if p, ok := m.phase.(*watching); ok && p.open {
		m.doubt.probeAt = now.Add(d)
	}
}

// probed takes the answer to a probe, and decides whether the server is still the same.
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
		m.unaskableUntil = now.Add(unaskableFor)
		m.probeIn(now, askBase)
		return
	case in.Failure.Reason != 0:
		delay := askBase
		for range d.failures {
			delay = min(2*delay, askCap)
		}
		d.failures++
		m.probeIn(now, delay+m.rules.jitter(delay))
		return
	}
	d.failures = 0
	if !object.Ordered(in.Version) {
		m.doubt = nil // the versions of this server cannot be compared
		return
	}
	if object.Older(in.Version, d.resume) {
		if d.answersBehind++; d.answersBehind < enough {
			m.probeIn(now, probeAgain)
			return
		}
		_, err := advance(d.resume, in.Version)
		m.wentBack(now, err)
		return
	}
	if a.unplanned {
		m.probeIn(now, 0) // d.asking is the place of another object now
		return
	}
	was := d.recent[d.asking]
	switch same, err := m.sameServer(a, d, was, in.Items); {
	case err != nil && len(in.Items) == 0 && d.answersAbsent+1 < enough:
		d.answersAbsent++ // an event that deletes it may be on its way
		m.probeIn(now, probeAgain)
	case err != nil:
		m.wentBack(now, err)
	case same && d.confirm() || a.key == "" || !d.next():
		m.doubt = nil
	default:
		m.probeIn(now, 0)
	}
}

// sameServer reports whether an answer shows that the server is still the same. It returns an error if the answer shows that it is
// another one. If the answer shows neither, it returns false and nil.
func (m *Machine) sameServer(a *ask, d *doubt, was known, items []Item) (bool, error) {
	if was.eventSince && (a.key != "" || len(items) == 0) {
		return false, nil // the server that is doubted has sent an event of it
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
	case a.key == "" && (a.eventSince && !items[0].IsHeld || object.Older(d.resume, items[0].Held.ResourceVersion)):
		return false, nil // an event has deleted or changed it since
	case a.key == "":
		return true, m.otherThanHeld(items[0])
	case was.gone:
		return false, fmt.Errorf("%w: %s is there at %s, and was deleted", errOtherHistory, was.Key, meta.ResourceVersion)
	case object.Another(was.UID, meta.UID), was.ResourceVersion != meta.ResourceVersion:
		return false, otherThan(was.Meta, meta)
	}
	return true, nil // it is as it was
}

// errOtherHistory is reported if the server's versions have passed the resume point, and its storage has another history. The
// machine cannot tell this from an event that a watch has left out, or that the sink has taken and lost.
var errOtherHistory = errors.New("the server has another history: its storage was restored from a backup, or a watch or the sink has lost a change")

// otherThanHeld takes an object that has not changed since the resume point. It returns an error if the sink does not hold this
// version of the object.
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

// unsettled reports whether the sink's object of a key may be older than the resume point (quarantine) or newer (fence).
func (m *Machine) unsettled(key string) bool {
	_, fenced := m.fences[key]
	return fenced || m.quarantine.entries[key] != nil
}

// sameVersion reports whether the sink may hold the same state of this object. If a transform has cleared the UID or the version,
// sameVersion does not compare that part.
func sameVersion(item Item) bool {
	return !object.Another(item.Held.UID, item.Meta.UID) &&
		(item.Held.ResourceVersion == "" || item.Held.ResourceVersion == item.Meta.ResourceVersion)
}

// otherVersion is the error of an object that is not what the sink holds under its key.
func otherVersion(item Item) error { return otherThan(item.Held, item.Meta) }

// otherThan is the error of an object that is not what was known under its key. If it is another object, its version may be the same.
func otherThan(was, meta object.Meta) error {
	if object.Another(was.UID, meta.UID) {
		return fmt.Errorf("%w: %s is another object at %s (UID %s) than at %s (UID %s)", errOtherHistory, meta.Key, meta.ResourceVersion, meta.UID, was.ResourceVersion, was.UID)
	}
	return fmt.Errorf("%w: %s is at %s, and was at %s", errOtherHistory, meta.Key, meta.ResourceVersion, was.ResourceVersion)
}

// wentBack lists the most recent state, and reuses no object of the sink. It lists at once, unless the machine is waiting. The
// probes of many clients are spread over time, so the lists that follow are spread, too.
func (m *Machine) wentBack(now time.Time, err error) {
	m.mostRecentNext, m.distrusted = true, true
	m.emit(Problem{Class: VersionProblem, Err: err})
	m.emit(HangUp{WentBack, err})
	m.emit(Relist{Version: m.resume, Reason: WentBack, Err: err})
	m.syncAfterWait(now)
}
