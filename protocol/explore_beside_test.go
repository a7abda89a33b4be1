package protocol

import "k8s.io/apimachinery/pkg/types"

// makeBeside makes a move of a refetch or a verification.
func (w *world) makeBeside(mv move) bool {
	switch mv.kind {
	case answerAsk:
		return w.answerAsk(mv.b)
	case failAsk:
		if !w.spend(askFailures) {
			return false
		}
		failure := askFailureKinds[mv.b]
		if failure.Reason == Expired && (!w.ask.exact || w.ask.at >= w.srv.head()) {
			return false
		}
		if failure.Reason != Unreachable && w.ask.exact {
			w.unanswered = false
		}
		w.ask = inquiry{}
		w.sayFailure(failure)
		w.step(Refetched{Failure: failure}, subject{})
	case askArrives:
		w.askArrives()
	case answerCheck:
		// Exactly at the version that was asked for, if the server has it still, and has it already.
		at := w.check.at
		switch {
		case mv.a == 0 && at > w.srv.head(), mv.a == 1 && at == w.srv.head():
			return false
		case mv.a == 1:
			at = w.srv.head()
		}
		w.check.state, w.check.at = answered, at
		w.check.found = arrived{objects: w.srv.at(at).selected}
		w.say("# The list of metadata is of %d.", offset+int(at))
	case failCheck:
		if !w.spend(askFailures) {
			return false
		}
		w.check = inquiry{}
		w.step(MetadataListed{Failure: failureOf(Unreachable, 0)}, subject{})
	case checkArrives:
		w.check.state = arrivedState
		w.step(MetadataListed{Version: w.check.at.String()}, subject{})
	default:
	}
	return true
}

// answerAsk has the server answer with its most recent state, or with that of the version that is asked for. The selectors are
// those of the reflector; a server that is deaf to field selectors answers with everything.
func (w *world) answerAsk(spoil int8) bool {
	at := w.srv.head()
	if w.ask.exact {
		at = w.ask.at
	}
	if at > w.srv.head() {
		if spoil != whole {
			return false
		}
		w.ask = inquiry{}
		w.sayFailure(failureOf(TooLarge, 504))
		w.step(Refetched{Failure: failureOf(TooLarge, 504)}, subject{})
		return true
	}
	a := arrived{objects: w.srv.at(at).selected}
	for k := range int8(keys) {
		if !w.s.deaf && w.ask.key != -1 && w.ask.key != k {
			a.objects[k] = cell{}
		}
	}
	if w.ask.key == -1 { // a limit of 1
		if a.objects[0] != (cell{}) {
			w.ask.more = a.objects[1] != cell{}
			a.objects[1] = cell{}
		}
	}
	if spoil > undecodableB || !w.spoil(&a, spoil) {
		return false
	}
	w.ask.state, w.ask.at, w.ask.found = answered, at, a
	return true
}

func (w *world) askArrives() {
	q := w.ask
	w.ask = inquiry{}
	w.sayAnswer(q)
	in := Refetched{Version: q.at.String(), More: q.more}
	s := subject{key: max(q.key, 0), object: cell{at: q.at}, old: q.old}
	for k := range int8(keys) {
		if c := q.found.objects[k]; c != (cell{}) {
			in.Items = append(in.Items, w.item(k, c, q.found.bad[k]))
			s.object = c
		}
	}
	if q.key != -1 {
		in.Held, in.IsHeld = w.held(q.key)
	}
	if len(in.Items) == 0 && in.Held.UID != "" {
		s.object.uid = uidOf(types.UID(in.Held.UID))
	}
	w.step(in, s)
}
