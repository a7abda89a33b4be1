package protocol

import (
	"fmt"
	"slices"
)

// search is one search through the states of a world, breadth first, until there are no new ones.
type search struct {
	name  string
	rules Rules

	most    version // the newest version that the server gives out
	budget  budget
	settles int // the most steps of a server that behaves until nothing more is to be done, as measured

	deaf    bool // the server ignores field selectors
	cleared bool // a transform clears UIDs and versions

	states []state
	ids    map[identity]int32
}

// state is what is kept of a state: how it was reached first, and where a server that behaves leads
// from it.
type state struct {
	from int32
	by   move
	next int32 // the state that follows if the server behaves; settled or lost
}

const (
	settled int32 = -1 - iota // nothing more happens, and all is as it should be
	lost                      // nothing more happens, and the sink does not equal the server
)

// violation is a state in which something does not hold, and the path to it.
type violation struct {
	what string
	path []move
}

// found is what a search has found.
type found struct {
	states, steps int
	depth         int // the longest way to a settled state, if the server behaves
	violation     *violation
}

// explore visits every state. It ends at the first violation, so that its path is a shortest one.
func (s *search) explore() found {
	var f found
	var e encoder
	var scratch [2][]byte
	s.ids = map[identity]int32{}
	root := s.begin()
	s.ids[e.identify(root, &scratch)] = 0
	s.states = []state{{from: -1, next: lost}}
	type visit struct {
		w  *world
		id int32
	}
	level, nextLevel := []visit{{root, 0}}, []visit(nil)
	var moves []move
	var try world
	for len(level) > 0 {
		for i, v := range level {
			level[i] = visit{}
			best := 0
			moves = v.w.moves(moves[:0])
			for m := 0; m < len(moves); m++ {
				mv := moves[m]
				w := try.follows(v.w)
				if !w.make(mv) {
					continue
				}
				f.steps++
				w.inspect(v.w)
				if w.broken != "" {
					f.states, f.violation = len(s.states), &violation{w.broken, append(s.path(v.id), mv)}
					return f
				}
				if mv.refuse == 0 && w.can(refusals) {
					for n := range w.calls {
						again := mv
						again.refuse = int8(n + 1)
						moves = append(moves, again)
					}
				}
				identity := e.identify(w, &scratch)
				id, known := s.ids[identity]
				if !known {
					id = int32(len(s.states))
					s.ids[identity] = id
					s.states = append(s.states, state{from: v.id, by: mv, next: lost})
					kept := *w
					kept.shared = false
					nextLevel = append(nextLevel, visit{&kept, id})
				}
				if p := v.w.behaving(mv); p > best {
					best = p
					s.states[v.id].next = id
				}
			}
			if (best == 0 || best == inOrderVerify) && (v.w.equal() || best == 0 && !v.w.mustConverge()) {
				s.states[v.id].next = settled
			}
		}
		level, nextLevel = nextLevel, level[:0]
	}
	f.states = len(s.states)
	f.depth, f.violation = s.converge()
	return f
}

// The order in which a server that behaves, and a client whose timers all fire in the end, go on.
const (
	inOrderVerify = iota + 1
	inOrderQuarantine
	inOrderCheck
	inOrderRepair
	inOrderBookmark
	inOrderEvent
	inOrderRefetch
	inOrderRequest
)

// behaving returns the place in that order of a move that belongs to a server that behaves; 0 if it
// does not.
func (w *world) behaving(mv move) int {
	head := int8(w.srv.head())
	if mv.refuse > 0 {
		return 0
	}
	switch mv.kind {
	case wake:
		return inOrderRequest
	case failList, failWatch:
		if w.srv.down != 0 {
			return inOrderRequest
		}
	case answerList, openWatch:
		if mv.b == whole && (mv.a == head || w.main.version > w.srv.head()) {
			return inOrderRequest
		}
	case tooLarge:
		if w.main.version > w.srv.head() && (w.main.kind == listRequest || w.main.initial) {
			return inOrderRequest
		}
	case answerRefetch:
		if mv.b == whole {
			return inOrderRefetch
		}
	case refetchArrives, answerCheck, checkArrives:
		return inOrderRefetch
	case deliver:
		if mv.b == whole {
			return inOrderEvent
		}
	case bookmark:
		return inOrderBookmark
	case checkDue:
		return inOrderCheck
	case askDue:
		return inOrderQuarantine
	case repairDue:
		return inOrderRepair
	case verifyDue:
		return inOrderVerify
	default:
	}
	return 0
}

// path is how a state was reached first.
func (s *search) path(id int32) []move {
	var path []move
	for ; id > 0; id = s.states[id].from {
		path = append(path, s.states[id].by)
	}
	slices.Reverse(path)
	return path
}

// converge follows the steps of a server that behaves from each state. They have to lead to a
// settled one.
func (s *search) converge() (depth int, v *violation) {
	depths := make([]int32, len(s.states)) // 0: not known yet; the depth plus one
	const onTheWay = -1
	var way []int32
	for id := range s.states { // in the order of the shortest paths
		way = way[:0]
		at := int32(id)
		for at >= 0 && depths[at] == 0 {
			depths[at] = onTheWay
			way = append(way, at)
			at = s.states[at].next
		}
		switch {
		case at == lost:
			return depth, s.lostAt(int32(id), "the sink never equals the server")
		case at >= 0 && depths[at] == onTheWay:
			return depth, s.lostAt(int32(id), "the client never comes to rest")
		}
		d := int32(0)
		if at >= 0 {
			d = depths[at]
		}
		for _, id := range slices.Backward(way) {
			d++
			depths[id] = d
		}
		depth = max(depth, int(d)-1)
	}
	return depth, nil
}

// lostAt returns the path to a state, and on from there, as a violation.
func (s *search) lostAt(id int32, what string) *violation {
	path := s.path(id)
	w := s.begin()
	for _, mv := range path {
		w.follows(w).make(mv)
		w.forget()
	}
	seen := map[int32]bool{}
	for at := id; at >= 0 && !seen[at]; at = s.states[at].next {
		seen[at] = true
		mv, ok := w.behave()
		if !ok {
			break
		}
		path = append(path, mv)
		w.follows(w).make(mv)
		w.forget()
	}
	return &violation{fmt.Sprintf("%s, although the server behaves from the %dth step on", what, len(s.path(id))+1), path}
}

// behave returns the move of a server that behaves.
func (w *world) behave() (best move, ok bool) {
	place := 0
	for _, mv := range w.moves(nil) {
		if p := w.behaving(mv); p > place && new(world).follows(w).make(mv) {
			best, place = mv, p
		}
	}
	return best, place > 0
}
