package protocol

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/relist-go/relist/object"
)

// history is the history check. It finds out whether a server still has the history that the sink's
// objects come from.
//
// Why: if etcd is restored from a backup, the server assigns the versions after the backup a second
// time, to other changes. A watch at the resume version brings nothing until the restored server
// has reached that version. After that, the watch looks normal, and the sink has objects of two
// histories.
//
// When it starts: a watch has ended, and another server may answer from now on
// ([history.mayBeAnotherServer]). Or the connection that brought a list was closed too early: no
// watch was open yet, so the list may come from another server ([history.suspectList]). In both
// cases the server is then unverified.
//
// What is checked:
//
//   - If events have come since the last bookmark or list, the server must send the last of them again, four at most. For this, the
//     next watch starts before these events, which costs no request. If the server sends exactly these events, its history has
//     everything that the sink has, because the last of these events moved the resume version.
//   - If these events do not come soon, or if there are none, the machine asks the server for the newest object that it knows, exactly
//     at the resume version. If that object was deleted, the machine also asks for the newest object that was not.
//   - If the server no longer has these events, its watch cache may have been filled after the restore. The machine then asks about all
//     states that it knows. It also does so if a list may be of another history.
//
// When it ends: all events or answers are as expected, and the server is verified. Or one of them
// is not as expected, and the machine lists.
//
// The check does not notice a restored backup if the last events, or these objects, are the same in
// both histories. Only a verification ([Rules.Verify]) notices that, because nothing else in the
// API distinguishes the two servers.
//
// A parameter resume is always the machine's resume version of that moment. A history emits no
// effect. It changes nothing of a phase except p.repeats, in isRepetition.
type history struct {
	rules *Rules
	recent

	// unverified has the open questions. While it is nil, the server is verified.
	unverified *unverified

	nextListCheck time.Time // a list may be asked about again only after this time, see checkListEvery
}

type unverified struct {
	resume    string     // the resume version at the beginning; once it moves, a watch no longer has to repeat the last events
	questions []question // the first is asked next; there is at least one
	suspicion suspicion

	at       time.Time // when to ask. It counts only while a watch is open and no request for a key is in flight, see beside.go; each watch that opens sets it
	failures int       // how often in a row the machine had to ask later: a question got no answer, or an answer after which no list helps
	behind   bool      // the last answer was older than the question
}

// suspicion says why the machine asks. It decides what follows if an answer is not what was known.
type suspicion uint8

const (
	ofServer     suspicion = iota // another server may answer, perhaps with another history; then a list brings its objects
	ofList                        // a list has come because of another history, and the storage may differ from that list
	ofStorage                     // the storage differs, so no list helps until the API server is started again
	ofNextServer                  // the storage has differed, but another server may answer now, so a list may help
)

// listHelps reports whether a list is what follows if an answer is not what was known.
func (s suspicion) listHelps() bool { return s == ofServer || s == ofNextServer }

// repetition is what a watch has to repeat first.
type repetition struct {
	left  []known // the events that have not come yet, the oldest first
	begun bool    // one of them has come
}

const (
	// After a watch has opened, the machine waits between checkAfter and checkAfter + checkSpread,
	// and then asks. This spreads the questions of many clients. checkSpread also spreads their
	// lists, if their watches do not repeat the expected events.
	checkAfter  = 500 * time.Millisecond
	checkSpread = 2500 * time.Millisecond

	// If a list has come because the server showed another history, the machine asks whether the
	// storage agrees with the list. It asks at most once in checkListEvery. A server that keeps
	// sending old lists may end each watch with 410. No more questions are needed for it, because
	// the next list follows a 410 without a question. If the storage differs from a list, the
	// machine may ask about the next list sooner.
	checkListEvery = 30 * time.Second

	// If an answer is older than the question, it may come from a replica that is behind for a
	// moment. So the machine asks once more after checkAgain. A question that names a key is for
	// exactly one version: the server reads that from its storage, which is never behind.
	checkAgain = 5 * time.Second

	// mostQuestions is how many questions are open at most. Without this limit, there would be more
	// each time that another server may answer.
	mostQuestions = 4
)

// suspect records that another server may answer from now on. If the server is unverified already,
// the open questions stay. A question about what has come since then would prove nothing alone,
// because that may be of another history, too.
func (h *history) suspect(resume string) {
	u := h.unverified
	if !object.IsComparable(resume) {
		return
	}
	if u == nil {
		h.unverified = &unverified{resume: resume, questions: h.newest(resume)}
		return
	}
	if u.questions[len(u.questions)-1].at != resume {
		all := slices.Concat(u.questions, h.newest(resume))
		u.questions = all[:min(len(all), mostQuestions)]
	}
	switch u.suspicion {
	case ofList:
		u.suspicion = ofServer
	case ofStorage:
		u.suspicion = ofNextServer
	case ofServer, ofNextServer: // a list helps already
	}
}

// suspectList records that a list, or its first pages, may be of another history than what came
// after. The machine then asks about all states that it knows. There are no events yet that a watch
// could repeat, and one object alone may have the same version in both histories by chance. If the
// server is unverified already, the open questions are about that list.
func (h *history) suspectList(resume string) {
	if h.unverified != nil {
		return
	}
	if h.suspect(resume); h.unverified != nil {
		h.unverified.questions = h.all(resume)
	}
}

// listed takes a list that the sink has. After it no question is open, except in two cases. The
// list has come because the server showed another history: then the storage may still differ from
// it. Or some of its pages may be of another history.
func (h *history) listed(sum Sum, otherHistory bool) {
	h.recent, h.unverified = sum.Recent, nil
	switch {
	case otherHistory:
		if h.suspect(sum.Version); h.unverified != nil {
			h.unverified.suspicion = ofList
		}
	case sum.Reconnected:
		h.suspectList(sum.Version)
	}
}

// mayBeAnotherServer reports whether another server may answer after this end of a watch.
func (h *history) mayBeAnotherServer(p *watching, reason Reason, now time.Time) bool {
	switch reason {
	case Unreachable, Unavailable, IdleTimeout, TimedOut:
		return true
	case Closed, ConnectionLost:
		return p.timeout == 0 || p.alive(now) < p.timeout-margin
	// The same server has answered. A restore in the delay that follows is not noticed.
	case Throttled, Expired, TooLarge, Denied, Failed, Malformed, NotFound,
		EmptyWatches, Unversioned, SinkFailed, RelistRequested, Incomplete, RolledBack, Repair, reasonsEnd: // no request ends for these
	}
	return false
}

// begin returns the version at which the next watch begins, and what it has to repeat.
func (h *history) begin(resume string) (version string, repeats repetition) {
	if h.unverified == nil || h.unverified.resume != resume {
		return resume, repetition{}
	}
	version, repeats.left = h.repeats(resume)
	return version, repeats
}

// opened sets the time of the next question, because a watch is open now. If a saved copy waits for
// the answer, and the watch repeats nothing, the machine asks immediately. These questions need no
// delay that spreads them, because programs start at different times.
func (h *history) opened(now time.Time, copyWaits bool) {
	switch u := h.unverified; {
	case u == nil:
	case copyWaits:
		u.at = now
	default:
		u.at = now.Add(checkAfter + h.rules.jitter(checkSpread))
		if !u.suspicion.listHelps() {
			u.at = latest(u.at, h.nextListCheck)
		}
	}
}

// due returns when to ask the next question; zero for never.
func (h *history) due() time.Time {
	if h.unverified == nil {
		return time.Time{}
	}
	return h.unverified.at
}

// ask returns the next question, which is sent now.
func (h *history) ask(now time.Time) question {
	u := h.unverified
	u.at = time.Time{}
	if !u.suspicion.listHelps() {
		h.nextListCheck = now.Add(checkListEvery)
	}
	return u.questions[0]
}

// answered takes the answer to a question. If the answer proves another history, answered returns
// an error. If that error is errStorageDiffers, no list helps; otherwise a list must follow.
func (h *history) answered(now time.Time, resume string, a *refetch, in Refetched) error {
	u := h.unverified
	if u == nil {
		return nil // the events of the watch have verified the server
	}
	q := &u.questions[0]
	failed := in.Failure.Reason
	behind := failed == TooLarge || failed == 0 && object.Older(in.Version, q.at)
	forgotten := failed == Expired && (u.suspicion == ofStorage || u.suspicion == ofNextServer) // a 410 settles nothing then, see errStorageDiffers
	switch {
	case a.otherServer:
		u.at = now // the answer may be the old server's
	case behind && !u.behind && (failed == 0 || q.Key == ""):
		u.behind, u.at = true, now.Add(checkAgain)
	case behind:
		return h.differs(now, fmt.Errorf("%w: it has not reached %s", errOtherHistory, q.at))
	case forgotten && object.Older(q.at, resume):
		// The object must be the same at the resume version, unless an event after q.at changed it.
		u.questions = slices.Concat([]question{{q.known, resume}}, u.questions[1:])
		h.later(now)
	case forgotten:
		return h.differs(now, fmt.Errorf("%w: it no longer has %s", errOtherHistory, q.at))
	case failed == Expired, failed == Failed && in.Failure.findsFault(), failed == 0 && (in.Version != q.at || !a.answers(in)):
		h.settled(now) // the server no longer has the version, or it cannot be asked
	case failed != 0:
		h.later(now)
	default:
		if err := q.answer(in.Items); err != nil {
			return h.differs(now, err)
		}
		h.settled(now)
	}
	return nil
}

// later sets the time of the next question after a failure.
func (h *history) later(now time.Time) {
	u, delay := h.unverified, refetchBase
	for range u.failures {
		delay = min(2*delay, refetchCap)
	}
	u.failures++
	u.at = now.Add(delay + h.rules.jitter(delay))
}

// settled drops the first question. After the last one, the server counts as verified.
func (h *history) settled(now time.Time) {
	u := h.unverified
	if len(u.questions) == 1 {
		h.unverified = nil
		return
	}
	u.questions, u.failures, u.behind, u.at = u.questions[1:], 0, false, now
}

// differs takes the proof that the server has another history. If a list has not helped, the
// machine asks again later.
func (h *history) differs(now time.Time, err error) error {
	u := h.unverified
	if u.suspicion.listHelps() {
		return err
	}
	u.suspicion = ofStorage
	h.nextListCheck = time.Time{} // the next list may help
	h.later(now)
	return fmt.Errorf("%w: %w", errStorageDiffers, err)
}

// isRepetition takes an event of a watch that has to repeat the last events, and reports whether
// the sink does not need it. If another event should have come, the error proves another history.
// Two kinds of event prove nothing: an object that is not newer than the version at which the watch
// began, and a bookmark that is older than the event that has to come next.
func (h *history) isRepetition(p *watching, e *Seen) (bool, error) {
	meta, left := e.Item.Meta, p.repeats.left
	if len(left) == 0 || !object.IsComparable(meta.ResourceVersion) {
		return false, nil
	}
	want := left[0]
	same := meta.ResourceVersion == want.ResourceVersion
	switch {
	case e.Type == object.Bookmark && object.Older(meta.ResourceVersion, want.ResourceVersion):
	case !object.Older(p.version, meta.ResourceVersion):
		return false, nil
	case same && meta.Key == want.Key && !object.DifferentUID(meta.UID, want.UID) && want.gone == (e.Type == object.Deleted) && e.Type != object.Bookmark:
		p.repeats = repetition{left: left[1:], begun: true}
		if h.repeated(want, len(left)-1); len(left) == 1 {
			h.unverified = nil
		}
	default:
		return true, fmt.Errorf("%w: after %s it has an event of %q at %s, and had one of %q at %s",
			errOtherHistory, p.version, meta.Key, meta.ResourceVersion, want.Key, want.ResourceVersion)
	}
	return true, nil
}

// unrepeatable reports whether a watch has ended because the server no longer has the events that
// the watch has to repeat. Some servers say so by 410, and some end the watch immediately, see
// [short]. The next watch then begins at the resume version, and the machine asks about all states
// that it knows.
func (h *history) unrepeatable(now time.Time, resume string, p *watching, reason Reason) bool {
	forgotten := reason == Expired || reason == Closed && p.empty(now)
	if !forgotten || len(p.repeats.left) == 0 {
		return false
	}
	h.passed()
	if h.unverified != nil {
		h.unverified.questions = h.all(resume)
	}
	return true
}

// verified reports whether the server is known to have the history of the sink's objects.
func (h *history) verified() bool { return h.unverified == nil }

// awaitsAnswer reports whether a saved copy must wait for an answer. After a question has failed,
// the copy does not wait any longer.
func (h *history) awaitsAnswer() bool { return h.unverified != nil && h.unverified.failures == 0 }

// saved adds to a point what another machine needs to check the history.
func (h *history) saved(p *Point) {
	for _, k := range h.states {
		if k.Key != "" {
			p.Newest = append(p.Newest, Newest{k.Meta, k.gone})
		}
	}
	if h.events > 0 {
		p.Since = h.since
	}
}

// resumeSaved continues from a saved copy. The server may be another one than before.
func (h *history) resumeSaved(p Point) {
	h.since = p.Since
	for i, n := range p.Newest[:min(len(p.Newest), len(h.states))] {
		h.states[i] = known{n.Meta, n.Gone}
		if object.Older(p.Since, n.Meta.ResourceVersion) && !object.Older(p.Version, n.Meta.ResourceVersion) {
			h.events++
		}
	}
	h.suspect(p.Version)
}

// errStorageDiffers is reported if a server has shown another history, and its storage differs from
// the list that followed. That happens if etcd was restored and the API server was not started
// again: it still lists from its watch cache, so no list helps. If the answer to a question is then
// a 410, the server is not verified: the sink still has objects of the old history. The machine
// asks again, as of the resume version.
var errStorageDiffers = errors.New("the API server lists something else than its storage has: restart it if its storage was restored")
