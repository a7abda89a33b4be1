package protocol

import "k8s.io/apimachinery/pkg/types"

// makeBeside makes a move of a refetch or a verification.
func (w *world) makeBeside(mv move) bool {
	switch mv.kind {
	case answerRefetch:
		return w.answerRefetch(mv.b)
	case failRefetch:
		if !w.spend(refetchFailures) {
			return false
		}
		failure := refetchFailureKinds[mv.b]
		if failure.Reason == Expired && (!w.refetch.exact || w.refetch.at >= w.srv.head()) {
			return false
		}
		if failure.Reason != Unreachable && w.refetch.exact {
			w.unanswered = false
		}
		w.refetch = inquiry{}
		w.sayFailure(failure)
		w.step(Refetched{Failure: failure}, subject{})
	case refetchArrives:
		w.refetchArrives()
	case answerCheck:
		// Exactly at the version that was asked for, if the server has it still, and has it
		// already.
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
		if !w.spend(refetchFailures) {
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

// answerRefetch has the server answer with its most recent state, or with that of the version that
// is asked for. The selectors are those of the reflector; a server that is deaf to field selectors
// answers with everything.
func (w *world) answerRefetch(spoil int8) bool {
	at := w.srv.head()
	if w.refetch.exact {
		at = w.refetch.at
	}
	if at > w.srv.head() {
		if spoil != whole {
			return false
		}
		w.refetch = inquiry{}
		w.sayFailure(failureOf(TooLarge, 504))
		w.step(Refetched{Failure: failureOf(TooLarge, 504)}, subject{})
		return true
	}
	a := arrived{objects: w.srv.at(at).selected}
	for k := range int8(keys) {
		if !w.s.deaf && w.refetch.key != -1 && w.refetch.key != k {
			a.objects[k] = cell{}
		}
	}
	if w.refetch.key == -1 { // a limit of 1
		if a.objects[0] != (cell{}) {
			w.refetch.more = a.objects[1] != cell{}
			a.objects[1] = cell{}
		}
	}
	if spoil > undecodableB || !w.spoil(&a, spoil) {
		return false
	}
	w.refetch.state, w.refetch.at, w.refetch.found = answered, at, a
	return true
}

func (w *world) refetchArrives() {
	q := w.refetch
	w.refetch = inquiry{}
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
