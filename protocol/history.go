package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

// The history check finds out whether a server still has the history that the sink's objects come from.
//
// Why: if etcd is restored from a backup, the server assigns the versions after the backup a second time, to other changes. A watch at
// the resume version brings nothing until the restored server has reached that version. After that, the watch looks normal, and the sink
// has objects of two histories.
//
// When it starts: another server may answer from now on ([Machine.mayBeAnotherServer]), or may have answered since a list started
// ([Machine.suspectList]). The server is then unverified.
//
// What is checked:
//
//   - If events have come since the last bookmark or list, the next watch starts before the last of them, and the server must send
//     exactly these events again. That costs no request. If the events are the same, the server's history has everything that the sink
//     has, because the last of these events moved the resume version.
//   - If these events do not come soon, or if there are none, the machine asks the server for the newest object that it knows, exactly
//     at the resume version. If that object was deleted, the machine also asks for the newest object that was not.
//   - If the server no longer has the events, but has the resume version, its watch cache may have started with the backup. The machine
//     then asks for all states that it knows. It does so, too, if a list may be of another history.
//
// When it ends: the events or the answers are the same, and the server is verified; or one of them differs, and the machine lists.
//
// The check does not notice a restored backup if the last events, or these objects, are the same in both histories. Only a verification
// ([Rules.Verify]) notices that, because nothing else in the API distinguishes the two servers.

// unverified holds the open questions of the history check. While it is nil, the server is verified.
type unverified struct {
	resume    string     // the resume version when this began: while it is the same, a watch has to repeat the last events
	questions []question // the first is asked next; there is at least one
	relisted  bool       // a list has come since the server has shown another history
	differs   bool       // the storage has shown something else than that list

	at       time.Time // when to ask; zero while no watch is open, and while an answer is on its way
	failures int       // how often in a row a question got no answer, or got an answer that no list can help with
	behind   bool      // the last answer was older than the question
}

const (
	// After a watch has opened, the machine waits between checkAfter and checkAfter + checkSpread, and then asks. So the questions of
	// many clients do not come together, nor do the lists that follow if the events of a watch are not those that were expected.
	checkAfter  = 500 * time.Millisecond
	checkSpread = 2500 * time.Millisecond

	// If a list has come because the server showed another history, the machine asks whether the storage agrees with the list. It asks at
	// most once in checkListEvery. That is enough: if each list is older than what was seen before, and each watch ends with 410, another
	// list follows without a question. If the storage has disagreed with a list, the machine asks about the next list without this limit.
	checkListEvery = 30 * time.Second

	// An answer that is older than the question may be that of a replica that is behind for a moment. So the machine asks once more
	// after checkAgain. A server that is asked for one key exactly at a version gives no such answer: it reads its storage.
	checkAgain = 5 * time.Second

	// mostQuestions is how many questions there are at most, if another server may answer again and again.
	mostQuestions = 4
)

// suspect records that another server may answer from now on. If the server is unverified already, the earlier questions stay, because
// what has come since they were asked may be of another history.
func (m *Machine) suspect() {
	u := m.unverified
	switch {
	case !object.IsComparable(m.resume):
	case u == nil:
		m.unverified = &unverified{resume: m.resume, questions: m.recent.newest(m.resume)}
	case u.questions[len(u.questions)-1].at != m.resume:
		all := slices.Concat(u.questions, m.recent.newest(m.resume))
		u.questions = all[:min(len(all), mostQuestions)]
		fallthrough
	default:
		u.relisted = false // a list may help now
	}
}

// suspectList records that a list, or the first pages of it, may be of another history than what has come since. The machine then asks
// for all states that it knows, because no watch repeats events, and one object may have the same version in both histories by chance.
// If the server is unverified already, the open questions are about that list.
func (m *Machine) suspectList() {
	if m.unverified != nil {
		return
	}
	if m.suspect(); m.unverified != nil {
		m.unverified.questions = m.recent.all(m.resume)
	}
}

// suspectAfterProof is called when a list has come because the server showed another history. The server's storage may still differ
// from that list.
func (m *Machine) suspectAfterProof() {
	if m.suspect(); m.unverified != nil {
		m.unverified.relisted = true
	}
}

// suspectAnswers puts every key with a refetch version into quarantine, so that the machine refetches it. The sink has an answer of the
// old server for such a key. The history check does not cover that answer, because it is newer than the resume version, and the refetch
// version would hide the events of a new server. suspectAnswers also marks the refetch that is in flight, so that its answer is not
// used, and cancels a verification that has started.
func (m *Machine) suspectAnswers(now time.Time) {
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

// mayBeAnotherServer reports whether another server may answer after this end of a watch.
func (m *Machine) mayBeAnotherServer(p *watching, reason Reason, now time.Time) bool {
	switch reason {
	case Unreachable, Unavailable, IdleTimeout, TimedOut:
		return true
	case Closed, ConnectionLost:
		return p.timeout == 0 || p.alive(now) < p.timeout-margin
	default:
		return false
	}
}

// planCheck sets the time of the next question, because a watch is open now. If a saved copy waits for the answer, and the watch
// repeats nothing, the machine asks immediately. No delay has to spread the questions of many programs then, because this program has
// just started, and others started at other times.
func (m *Machine) planCheck(now time.Time, p *watching) {
	switch {
	case m.unverified == nil:
	case !m.synced && len(p.repeats) == 0:
		m.unverified.at = now
	default:
		m.unverified.at = now.Add(checkAfter + m.rules.jitter(checkSpread))
		if m.unverified.relisted {
			m.unverified.at = latest(m.unverified.at, m.backoff.nextListCheck)
		}
	}
}

// unplanCheck puts the next question off until a watch is open.
func (m *Machine) unplanCheck() {
	if m.unverified != nil {
		m.unverified.at = time.Time{}
	}
}

// checkIn sets the time of the next question, if a watch is open. If not, planCheck sets it when the next one opens.
func (m *Machine) checkIn(now time.Time, d time.Duration) {
	if p, ok := m.phase.(*watching); ok && p.open {
		m.unverified.at = now.Add(d)
	}
}

// checkLater sets the time of the next question after a failure.
func (m *Machine) checkLater(now time.Time) {
	delay := refetchBase
	for range m.unverified.failures {
		delay = min(2*delay, refetchCap)
	}
	m.unverified.failures++
	m.checkIn(now, delay+m.rules.jitter(delay))
}

// check asks the next question.
func (m *Machine) check(now time.Time) {
	u := m.unverified
	u.at = time.Time{}
	if u.relisted {
		m.backoff.nextListCheck = now.Add(checkListEvery)
	}
	m.send(now, &refetch{key: u.questions[0].Key, at: u.questions[0].at})
}

// checked takes the answer to a question.
func (m *Machine) checked(now time.Time, a *refetch, in Refetched) {
	u := m.unverified
	if u == nil {
		return // the events of the watch have verified the server
	}
	q := &u.questions[0]
	failed := in.Failure.Reason
	behind := failed == TooLarge || failed == 0 && object.Older(in.Version, q.at)
	switch {
	case a.otherServer:
		m.checkIn(now, 0) // the answer may be the old server's
	case behind && !u.behind && (failed == 0 || q.Key == ""):
		u.behind = true
		m.checkIn(now, checkAgain)
	case behind:
		m.otherHistory(now, fmt.Errorf("%w: it has not reached %s", errOtherHistory, q.at))
	case failed == Expired && u.differs && object.Older(q.at, m.resume):
		// If no event has changed the object since, it must still be there as it was.
		u.questions = slices.Concat([]question{{q.known, m.resume}}, u.questions[1:])
		m.checkLater(now)
	case failed == Expired && u.differs:
		m.otherHistory(now, fmt.Errorf("%w: it no longer has %s", errOtherHistory, q.at))
	case failed == Expired, failed == Failed && in.Failure.findsFault(), failed == 0 && (in.Version != q.at || !a.answers(in)):
		m.nextQuestion(now) // the server no longer has the version, or it cannot be asked
	case failed != 0:
		m.checkLater(now)
	default:
		if err := q.answer(in.Items); err != nil {
			m.otherHistory(now, err)
			return
		}
		m.nextQuestion(now)
	}
}

// nextQuestion drops a question that is settled. After the last one, the server counts as verified.
func (m *Machine) nextQuestion(now time.Time) {
	u := m.unverified
	if len(u.questions) == 1 {
		m.unverified = nil
		return
	}
	u.questions, u.failures, u.behind = u.questions[1:], 0, false
	m.checkIn(now, 0)
}

// isRepetition takes an event of a watch that has to repeat the last events, and reports whether the sink does not need it. An object
// at or before the version at which the watch began says nothing, nor does a bookmark before the event that has to come next.
func (m *Machine) isRepetition(now time.Time, p *watching, e *Seen) bool {
	meta := e.Item.Meta
	if len(p.repeats) == 0 || !object.IsComparable(meta.ResourceVersion) {
		return false
	}
	want := p.repeats[0]
	same := meta.ResourceVersion == want.ResourceVersion
	switch {
	case e.Type == Bookmark && object.Older(meta.ResourceVersion, want.ResourceVersion):
	case !object.Older(p.version, meta.ResourceVersion):
		return false
	case same && meta.Key == want.Key && !object.DifferentUID(meta.UID, want.UID) && want.gone == (e.Type == Deleted) && e.Type != Bookmark:
		p.repeats, p.repeated = p.repeats[1:], true
		if m.recent.repeated(want, len(p.repeats)); len(p.repeats) == 0 {
			m.unverified = nil
		}
	default:
		m.distrust(fmt.Errorf("%w: after %s it has an event of %q at %s, and had one of %q at %s",
			errOtherHistory, p.version, meta.Key, meta.ResourceVersion, want.Key, want.ResourceVersion))
		m.waitUntil(now.Add(m.rules.jitter(checkSpread)), toList)
	}
	return true
}

// unrepeatable reports whether a watch has ended because the server no longer has the events that the watch has to repeat. Some
// servers say so by 410, and some end the watch immediately, see [short]. The next watch begins at the resume version, and more is
// asked for beside it.
func (m *Machine) unrepeatable(now time.Time, p *watching, reason Reason) bool {
	forgotten := reason == Expired || reason == Closed && p.empty(now)
	if !forgotten || len(p.repeats) == 0 {
		return false
	}
	m.recent.passed()
	if m.unverified != nil {
		m.unverified.questions = m.recent.all(m.resume)
	}
	return true
}

// errOtherHistory is reported if the server has another history. The machine cannot distinguish this from an event that a watch has left out,
// or that the sink has taken and lost.
var errOtherHistory = errors.New("the server has another history: its storage was restored from a backup, or a watch or the sink has lost a change")

// errStorageDiffers is reported if a list has come from a server that has shown another history, and the server's storage has
// something else than the list. If the storage of etcd alone was restored, a running API server takes such a list from its watch
// cache, and no list helps until that server is started again. A 410 to a question does not settle it then, because the sink still has
// objects of the old history. The machine asks again, as of the resume version.
var errStorageDiffers = errors.New("the API server lists something else than its storage has: restart it if its storage was restored")

// otherHistory takes the proof that the server has another history. It lists, unless a list has not helped.
func (m *Machine) otherHistory(now time.Time, err error) {
	if m.unverified != nil && m.unverified.relisted {
		m.unverified.differs = true
		m.backoff.nextListCheck = time.Time{} // the next list may help
		m.emit(Problem{Class: VersionProblem, Err: fmt.Errorf("%w: %w", errStorageDiffers, err)})
		m.checkLater(now)
		return
	}
	m.rolledBack(now, err)
}

// rolledBack lists the most recent state, and reuses no object of the sink. It lists immediately, unless the machine is waiting. The
// questions of many clients are spread over time, so the lists that follow are spread, too.
func (m *Machine) rolledBack(now time.Time, err error) {
	m.distrust(err)
	m.syncAfterWait(now)
}

// stateRolledBack drops a list or initial events, and asks for the most recent state. Either what came is older than the version that
// the machine asked for; or some of its objects were taken from the sink, and may be of another history. If the most recent state is
// older, too, then the server's storage rolled back, for example because it was restored from a backup. The sink then gets that state.
func (m *Machine) stateRolledBack(now time.Time, err error) {
	m.mostRecentNext, m.distrusted = true, true
	m.stateUnused(Failure{Reason: RolledBack, Err: err})
	m.emit(Problem{Class: VersionProblem, Err: err})
	m.emit(Relist{Version: m.resume, Reason: RolledBack, Err: err})
	m.sync(now)
}

// distrust gives the watch up, because the server has another history.
func (m *Machine) distrust(err error) {
	m.mostRecentNext, m.distrusted = true, true
	m.emit(Problem{Class: VersionProblem, Err: err})
	m.emit(Cancel{RolledBack, err})
	m.emit(Relist{Version: m.resume, Reason: RolledBack, Err: err})
}

// unsettled reports whether the sink's object of a key may be older than the resume version (quarantine) or newer (refetch version).
func (m *Machine) unsettled(key string) bool {
	_, refetched := m.refetchVersions[key]
	return refetched || m.quarantine.entries[key] != nil
}

// sameVersion reports whether the sink may hold the same state of this object. If a transform has cleared the UID or the version,
// sameVersion does not compare that part.
func sameVersion(item Item) bool {
	return !object.DifferentUID(item.Held.UID, item.Meta.UID) &&
		(item.Held.ResourceVersion == "" || item.Held.ResourceVersion == item.Meta.ResourceVersion)
}

// otherVersion is the error of an object that is not what the sink holds under its key.
func otherVersion(item Item) error { return otherThan(item.Held, item.Meta) }

// otherThan is the error of an object that is not what was known under its key. If it is another object, its version may be the same.
func otherThan(was, meta object.Meta) error {
	if object.DifferentUID(was.UID, meta.UID) {
		return fmt.Errorf("%w: %s is another object at %s (UID %s) than at %s (UID %s)", errOtherHistory, meta.Key, meta.ResourceVersion, meta.UID, was.ResourceVersion, was.UID)
	}
	return fmt.Errorf("%w: %s is at %s, and was at %s", errOtherHistory, meta.Key, meta.ResourceVersion, was.ResourceVersion)
}
