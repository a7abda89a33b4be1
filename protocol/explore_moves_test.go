package protocol

import (
	"errors"
	"time"

	"github.com/relist-go/relist/object"
)

// move is one thing that may happen in a world. Moves that are of no use in a state are not made
// there: see make.
type move struct {
	kind   moveKind
	a, b   int8
	refuse int8 // which call of the sink that follows from it is refused; 0 for none
}

type moveKind uint8

const (
	// Of the server and of its storage.
	doWrite   moveKind = iota + 1 // a: its kind, b: the key
	doRestore                     // a: the version, b: how the client notices, an index of notices

	// Of lists.
	answerList // a: the version, b: an index of spoils
	tooLarge
	failList // b: an index of listFailures

	// Of watches, and of their initial events. a of openWatch is the version of the initial events.
	openWatch
	expire
	failWatch // b: an index of watchFailures
	deliver   // b: an index of spoils
	omit
	bookmark
	endWatch // b: an index of ends
	idles

	// Of asks and verifications: the server's answer, and its arrival.
	answerRefetch // b: an index of spoils
	failRefetch   // b: an index of refetchFailures
	refetchArrives
	answerCheck
	failCheck
	checkArrives

	// Of timers.
	wake
	repairDue
	askDue // a: the key
	checkDue
	verifyDue

	// Of the program.
	wantList
	stopRun
)

// spoils are the ways in which an object comes over the wire. In lists they concern one of the
// keys.
const (
	whole int8 = iota
	undecodableA
	undecodableB
	namelessA
	namelessB
	spoilsEnd
)

// notices are the ways in which a client notices that a server went away. The storage cannot be
// taken back behind its back: the server is stopped for that.
const (
	seesRefusal int8 = iota
	sees503
	seesEarlyEnd
	seesNewConnection // the server is back before the first watch after a list is sent again
	noticesEnd
)

func failureOf(reason Reason, code int) Failure {
	return Failure{Reason: reason, Code: code, Err: errors.New(reason.String())}
}

var (
	listFailureKinds    = []Failure{failureOf(Unreachable, 0), failureOf(Failed, 400), failureOf(Expired, 410)}
	watchFailureKinds   = []Failure{failureOf(Unavailable, 503), failureOf(Failed, 500), failureOf(Expired, 410)}
	refetchFailureKinds = []Failure{failureOf(Unreachable, 0), failureOf(Failed, 400), failureOf(Expired, 410)}

	// The machine looks at how long a watch lived. It does so by three limits, between which
	// nothing differs.
	watchEnds = []struct {
		failure Failure
		after   time.Duration
	}{
		{failureOf(ConnectionLost, 0), 0},
		{failureOf(Closed, 0), 20 * time.Second},
		{failureOf(Closed, 0), 300 * time.Second}, // at the timeout that was asked for
		{failureOf(Failed, 500), 20 * time.Second},
	}
)

// moves are all moves that may be possible.
func (w *world) moves(all []move) []move {
	add := func(kind moveKind, a, b int8) { all = append(all, move{kind: kind, a: a, b: b}) }
	choose := func(kind moveKind, a int8, n int) {
		for b := range int8(n) {
			add(kind, a, b)
		}
	}
	for kind := create; kind < writeKinds; kind++ {
		for k := range int8(keys) {
			if w.mayWrite(kind) && w.srv.can(kind, k) {
				add(doWrite, int8(kind), k)
			}
		}
	}
	if w.can(restores) {
		for v := w.srv.base; v < w.srv.head(); v++ {
			choose(doRestore, int8(v), int(noticesEnd))
		}
	}
	switch w.main.kind {
	case noRequest:
		add(wake, 0, 0)
	case listRequest:
		add(tooLarge, 0, 0)
		choose(failList, 0, len(listFailureKinds))
		for v := w.oldestAnswer(); v <= w.srv.head(); v++ {
			choose(answerList, int8(v), int(spoilsEnd))
		}
	case watchRequest:
		if w.main.open {
			choose(deliver, 0, int(spoilsEnd))
			choose(endWatch, 0, len(watchEnds))
			add(omit, 0, 0)
			add(bookmark, 0, 0)
			add(idles, 0, 0)
		} else {
			choose(failWatch, 0, len(watchFailureKinds))
			add(tooLarge, 0, 0)
			add(expire, 0, 0)
			for v := w.oldestAnswer(); v <= w.srv.head(); v++ {
				if v == w.srv.head() || w.main.initial {
					add(openWatch, int8(v), 0)
				}
			}
			if w.main.version > w.srv.head() {
				add(openWatch, 0, 0)
			}
		}
	}
	switch w.refetch.state {
	case awaited:
		choose(answerRefetch, 0, int(spoilsEnd))
		choose(failRefetch, 0, len(refetchFailureKinds))
	case answered:
		add(refetchArrives, 0, 0)
	default:
		for k := range int8(keys) {
			add(askDue, k, 0)
		}
		add(checkDue, 0, 0)
	}
	switch w.check.state {
	case awaited:
		add(answerCheck, 0, 0)
		add(answerCheck, 1, 0)
		add(failCheck, 0, 0)
	case answered:
		add(checkArrives, 0, 0)
	case unasked:
		add(verifyDue, 0, 0)
	default:
	}
	add(repairDue, 0, 0)
	add(wantList, 0, 0)
	add(stopRun, 0, 0)
	return all
}

// mayWrite reports whether a write is possible now.
//
// Within one history nothing is written but before the first request and while a watch is open:
// what is written while none is could as well have been written before the last one ended, and
// would not have been delivered by that either. What a server writes after it was restored could
// not.
func (w *world) mayWrite(kind writeKind) bool {
	open := w.main.kind == watchRequest && w.main.open
	switch {
	case w.srv.head() >= w.s.most:
		return false
	case !open && !w.mixed && (w.m.synced || w.main.kind != noRequest):
		return false
	case kind == elsewhere:
		return w.can(elsewheres)
	case kind == leave, kind == enter:
		return w.can(writes) && w.can(leaves)
	case kind == createHidden, kind == grant:
		return w.can(writes) && w.can(grants)
	}
	return w.can(writes)
}

// oldestAnswer is the oldest state that a list, or initial events, may be answered with. The most
// recent state is that; "0" is answered by any state of the watch cache, and a version by one that
// is not older.
func (w *world) oldestAnswer() version {
	switch w.main.version {
	case 0:
		return w.srv.head()
	case anyVersion:
		return w.srv.base
	}
	return w.main.version
}

// make makes a move. It reports whether the move is possible.
//
// Lists are answered and delivered at one moment: what happens to the server in between could as
// well happen after, for the client hears of it by the watch only. Asks and verifications are not,
// because a watch is open beside them.
func (w *world) make(mv move) bool {
	if w.srv.down != 0 && !w.mayBeDown(mv) {
		return false
	}
	w.refuse = int(mv.refuse)
	if mv.refuse > 0 && !w.spend(refusals) {
		return false
	}
	switch mv.kind {
	case doWrite, doRestore:
		return w.makeStorage(mv)
	case answerList, tooLarge, failList:
		return w.makeList(mv)
	case openWatch, expire, failWatch, deliver, omit, bookmark, endWatch, idles:
		return w.makeWatch(mv)
	case answerRefetch, failRefetch, refetchArrives, answerCheck, failCheck, checkArrives:
		return w.makeBeside(mv)
	case wake, repairDue, askDue, checkDue, verifyDue:
		return w.makeTimer(mv)
	case wantList:
		if !w.spend(relists) {
			return false
		}
		w.say("relist")
		w.step(ListWanted{Ticket: w.m.wantedTicket + 1}, subject{})
	case stopRun:
		if !w.spend(stops) {
			return false
		}
		w.say("stop")
		w.main, w.refetch, w.check = request{}, inquiry{}, inquiry{}
		w.listed, w.reconnected = false, false
		w.step(Stopped{}, subject{})
		w.say("restart")
	}
	return true
}

// mayBeDown reports whether a move is possible while the server is away.
func (w *world) mayBeDown(mv move) bool {
	switch mv.kind {
	case failList, failWatch:
		return mv.b == 0
	case answerList, tooLarge, openWatch, expire, answerRefetch, answerCheck:
		return false
	default:
		return true
	}
}

func (w *world) makeStorage(mv move) bool {
	switch mv.kind {
	case doWrite:
		kind := writeKind(mv.a)
		switch kind {
		case elsewhere:
			w.spend(elsewheres)
		case leave, enter:
			w.spend(leaves)
			w.spend(writes)
		case createHidden, grant:
			w.spend(grants)
			w.spend(writes)
		default:
			w.spend(writes)
		}
		w.srv.write(kind, mv.b)
		w.sayWrite(kind, mv.b)
	case doRestore:
		return w.makeRestore(version(mv.a), mv.b)
	default:
	}
	return true
}

// makeRestore restores a backup. Requests that were not answered fail; an answer that was, may
// still arrive.
func (w *world) makeRestore(v version, notice int8) bool {
	open := w.main.kind == watchRequest && w.main.open
	possible := true
	switch notice {
	case seesEarlyEnd:
		possible = open
	case seesNewConnection:
		possible = w.listed && w.main.kind != listRequest
	}
	if !possible || !w.spend(restores) {
		return false
	}
	w.reconnected = w.listed
	w.say("# The server is stopped, and restored from a backup of %d.", offset+int(v))
	w.wasRestored()
	w.srv.restore(v)
	failure := failureOf(Unreachable, 0)
	if notice == sees503 {
		failure = failureOf(Unavailable, 503)
	}
	for _, q := range []*inquiry{&w.refetch, &w.check} {
		q.old = q.state != unasked
	}
	if w.refetch.state == awaited {
		w.refetch = inquiry{}
		w.sayFailure(failureOf(Unreachable, 0))
		w.step(Refetched{Failure: failureOf(Unreachable, 0)}, subject{})
	}
	if w.check.state == awaited {
		w.check = inquiry{}
		w.step(MetadataListed{Failure: failureOf(Unreachable, 0)}, subject{})
	}
	if notice != seesEarlyEnd && notice != seesNewConnection {
		w.srv.down = failure.Reason
	}
	switch {
	case open && notice == seesRefusal:
		w.end(failureOf(ConnectionLost, 0), 20*time.Second)
	case open:
		w.end(failureOf(Closed, 0), 20*time.Second)
	}
	return true
}

func (w *world) makeList(mv move) bool {
	if mv.kind == answerList {
		return w.answerList(version(mv.a), mv.b)
	}
	failure := failureOf(TooLarge, 504)
	switch {
	case mv.kind == tooLarge:
		// The cache is behind, or the storage was taken back.
		if w.main.version <= 0 || w.main.version <= w.srv.head() && !w.spend(lags) {
			return false
		}
	case w.srv.down != 0:
		failure.Reason, failure.Code = w.srv.down, 0
		w.srv.down = 0
	default:
		if failure = listFailureKinds[mv.b]; !w.spend(failureFault(failure)) {
			return false
		}
	}
	w.sayFailure(failure)
	if w.main.kind == listRequest {
		w.main = request{}
		w.step(Listed{Failure: failure}, subject{})
	} else {
		w.end(failure, 0)
	}
	return true
}

func failureFault(f Failure) fault {
	if f.Reason == Expired {
		return expirations
	}
	return failures
}

func (w *world) answerList(v version, spoil int8) bool {
	if w.main.version > w.srv.head() || w.main.version == 0 && v != w.srv.head() {
		return false
	}
	if v < w.srv.head() && !w.spend(lags) {
		return false
	}
	a := arrived{objects: w.srv.at(v).selected}
	if !w.spoil(&a, spoil) {
		return false
	}
	w.sayList(v, &a)
	sum := w.fold(v, &a)
	w.main, w.listed, w.reconnected = request{}, true, false
	w.step(Listed{Sum: sum}, subject{list: a, version: v})
	return true
}

// spoil makes an object of an answer undecodable or nameless.
func (w *world) spoil(a *arrived, spoil int8) bool {
	if spoil == whole {
		return true
	}
	k := (spoil - 1) % keys
	if a.objects[k] == (cell{}) {
		return false
	}
	if spoil == undecodableA || spoil == undecodableB {
		a.bad[k] = true
		return w.spend(badObjects)
	}
	a.objects[k], a.nameless = cell{}, true
	return w.spend(unnamed)
}

func (w *world) makeWatch(mv move) bool {
	switch mv.kind {
	case openWatch:
		return w.openWatch(version(mv.a))
	case expire:
		if w.main.version <= 0 || w.main.initial || w.main.version >= w.srv.head() || !w.spend(compactions) {
			return false
		}
		w.sayFailure(watchFailureKinds[2])
		w.end(watchFailureKinds[2], 0)
	case failWatch:
		failure := watchFailureKinds[mv.b]
		if w.srv.down != 0 {
			failure.Reason = w.srv.down
			w.srv.down = 0
		} else if !w.spend(failureFault(failure)) {
			return false
		}
		w.sayFailure(failure)
		w.end(failure, 0)
	case deliver:
		return w.deliver(mv.b)
	case omit:
		_, _, _, place := w.srv.event(w.main.pos)
		if place == 0 || w.main.initial || !w.spend(omissions) {
			return false
		}
		w.say("# The server does not send the event of version %d.", offset+int(place))
		w.main.pos = place
	case bookmark:
		at := w.srv.quiet(w.main.pos)
		if w.main.initial || at <= max(w.main.version, versionOf(w.m.resume)) && !w.passesRepeats(at) {
			return false // a server sends none at or below the version that the watch began at
		}
		w.main.pos = at
		w.sayBookmark(at, false)
		w.step(&Seen{Type: object.Bookmark, Item: Item{Meta: metaOf(0, cell{at: at})}}, subject{})
	case endWatch:
		end := watchEnds[mv.b]
		if !w.spend(breaks) {
			return false
		}
		w.sayAfter(end.after)
		w.sayFailure(end.failure)
		w.end(end.failure, end.after)
	case idles:
		if !w.spend(breaks) {
			return false
		}
		w.say("wait")
		return w.fire(func(m *Machine) {
			switch p := m.phase.(type) {
			case *watching:
				p.heard = now.Add(-2 * armed)
			case *streaming:
				p.heard = now.Add(-2 * armed)
			}
		})
	default:
	}
	return true
}

// passesRepeats reports whether a bookmark says that the server does not have the event that it has
// to repeat.
func (w *world) passesRepeats(at version) bool {
	p, ok := w.m.phase.(*watching)
	return ok && len(p.repeats.left) > 0 && at > w.main.version && at >= versionOf(p.repeats.left[0].ResourceVersion)
}

// end ends the watch that is open, or was to be, at an age.
func (w *world) end(failure Failure, age time.Duration) {
	if p, ok := w.own().phase.(*watching); ok {
		p.asked = now.Add(-age)
	}
	w.main = request{}
	w.step(Ended{Failure: failure}, subject{})
}

func (w *world) openWatch(v version) bool {
	switch {
	case w.main.initial && w.main.version > w.srv.head(): // the server waits for it, and then says that it is too large
		return false
	case w.main.initial && v < w.srv.head() && !w.spend(lags):
		return false
	}
	w.main.open, w.main.upTo = true, v
	if w.main.pos = w.main.version; w.main.initial {
		w.main.pos = v
	}
	w.say("< 200 watch")
	in := Opened{Reconnected: w.reconnected}
	w.listed, w.reconnected = false, false
	w.step(in, subject{})
	return true
}

// deliver brings the next event of the stream.
func (w *world) deliver(spoil int8) bool {
	var typ object.EventType
	var k int8
	var c cell
	place := w.main.pos
	if !w.main.initial {
		if typ, k, c, place = w.srv.event(w.main.pos); place == 0 {
			return false
		}
	} else {
		state := w.srv.at(w.main.upTo).selected
		for w.main.sent < keys && state[w.main.sent] == (cell{}) {
			w.main.sent++
		}
		if w.main.sent == keys {
			return spoil == whole && w.endInitial()
		}
		typ, k, c = object.Added, w.main.sent, state[w.main.sent]
		w.main.sent++
	}
	a := arrived{}
	a.objects[k] = c
	if spoil != whole && (spoil-1)%keys != k || !w.spoil(&a, spoil) {
		return false
	}
	w.main.pos = place
	if !w.main.initial && !a.nameless {
		w.sent(thing{true, k, c, typ == object.Deleted})
	}
	e := &Seen{Type: typ, Item: w.item(k, c, a.bad[k])}
	if a.nameless {
		e.Item.Meta.Key, e.Item.Meta.UID, e.Item.Err = "", "", errBad
		e.Item.Held, e.Item.IsHeld = Item{}.Held, false
	}
	w.sayEvent(typ, k, c, &a)
	w.step(e, subject{key: k, object: c, list: a})
	return true
}

// endInitial says that the initial events are over.
func (w *world) endInitial() bool {
	a, v := w.main.collected, w.main.upTo
	sum := w.fold(v, &a)
	w.main.initial = false
	w.sayBookmark(v, true)
	w.step(&Seen{
		Type: object.Bookmark, Item: Item{Meta: metaOf(0, cell{at: v})}, EndsInitial: true, Sum: &sum,
	}, subject{list: a, version: v})
	return true
}

func (w *world) makeTimer(mv move) bool {
	switch mv.kind {
	case wake:
		w.say("wait")
		if p, ok := w.own().phase.(*waiting); ok {
			p.until = now
		}
		w.step(Tick{}, subject{})
	case repairDue:
		if !w.m.quarantine.repair.due() {
			return false
		}
		return w.fire(func(m *Machine) { m.quarantine.repair.at = now })
	case askDue:
		e := w.m.quarantine.entries[keyTexts[mv.a]]
		if e == nil || w.m.quarantine.soonest.IsZero() || e.next.IsZero() {
			return false
		}
		return w.fire(func(m *Machine) { m.quarantine.entries[keyTexts[mv.a]].next, m.quarantine.soonest = now, now })
	case checkDue:
		if w.m.history.unverified == nil || w.m.history.unverified.at.IsZero() {
			return false
		}
		return w.fire(func(m *Machine) { m.history.unverified.at = now })
	case verifyDue:
		// Only while no event is due. One that begins before them hears of them while it is under
		// way, and then says nothing of their keys: it finds less.
		if _, _, _, place := w.srv.event(w.main.pos); place != 0 || w.m.verify.next.IsZero() {
			return false
		}
		return w.fire(func(m *Machine) { m.verify.next = now })
	default:
	}
	return true
}
