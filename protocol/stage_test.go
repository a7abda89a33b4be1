package protocol

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/object"
)

// stage is a machine on its own, with a clock that the test sets.
type stage struct {
	m       *Machine
	at      time.Time
	effects []Effect // of the last step
	full    error    // what the sink says to the next change; nil if it takes it
}

// defaults are the rules of a reflector without options, whose sink tells what it holds. There is
// no jitter.
func defaults() Rules {
	return Rules{
		MinTimeout: 5 * time.Minute, ResponseIdleTimeout: 2 * time.Minute, Base: 800 * time.Millisecond, Cap: 30 * time.Second,
		SinkTells: true, Rand: func() float64 { return 0 },
	}
}

func newStage(change ...func(*Rules)) *stage {
	rules := defaults()
	for _, f := range change {
		f(&rules)
	}
	return &stage{m: New(rules), at: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// step gives the machine an input, and then what the sink says to what comes of it. If the sink
// refuses, the effects are those of that.
func (s *stage) step(in Input) {
	s.effects = slices.Clone(s.m.Step(s.at, in))
	for s.m.pending.any() {
		if err := s.full; err != nil {
			s.full = nil
			s.effects = slices.Clone(s.m.Step(s.at, Refused{err}))
			return
		}
		s.effects = append(s.effects, s.m.Step(s.at, Took{})...)
	}
}

// tick has the time come that the machine waits for.
func (s *stage) tick() {
	s.at = latest(s.at, s.m.Wake())
	s.step(Tick{})
}

// pass lets time pass, in which the requests that are open bring nothing. The effects are those of
// all that came due.
func (s *stage) pass(d time.Duration) {
	end := s.at.Add(d)
	var all []Effect
	for at := s.m.Wake(); !at.IsZero() && !at.After(end); at = s.m.Wake() {
		s.at = latest(s.at, at)
		s.step(Tick{})
		all = append(all, s.effects...)
	}
	s.at, s.effects = end, all
}

// listed brings the machine to a watch at 100 that is not answered, and watched to one that is.
func (s *stage) listed() {
	s.step(Tick{})
	fold := s.m.Fold(false)
	fold.Item(good("a", "90", ""))
	s.step(Listed{Sum: fold.Sum("100", 1, false)})
}

func (s *stage) watched() {
	s.listed()
	s.step(Opened{})
}

// settled is a watch at 100 that is open and has been well for a minute, in which nothing is
// unsure.
func (s *stage) settled() {
	s.m = New(*s.m.rules)
	s.watched()
	for range 2 {
		s.at = s.at.Add(30 * time.Second)
		s.step(&Seen{Type: object.Bookmark, Item: Item{Meta: object.Meta{ResourceVersion: "100"}}})
	}
}

// good is an object that can be used. The sink holds it at a version, unless that is empty.
func good(key, version, held string) Item {
	item := Item{Meta: object.Meta{Key: key, UID: types.UID("uid of " + key), ResourceVersion: version}}
	if held != "" {
		item.Held, item.IsHeld = object.Meta{Key: key, UID: item.Meta.UID, ResourceVersion: held}, true
	}
	return item
}

// bad is one that cannot.
func bad(key, version, held string) Item {
	item := good(key, version, held)
	item.Err = errBadField
	return item
}

var errBadField = errors.New("bad field")

func event(typ object.EventType, item Item) *Seen { return &Seen{Type: typ, Item: item} }

func markAt(version string) *Seen {
	return &Seen{Type: object.Bookmark, Item: Item{Meta: object.Meta{ResourceVersion: version}}}
}

// endsInitial is the bookmark that ends the initial events of these items.
func (s *stage) endsInitial(version string, items ...Item) *Seen {
	sum := s.sum(version, items...)
	return &Seen{Type: object.Bookmark, Item: Item{Meta: object.Meta{ResourceVersion: version}}, EndsInitial: true, Sum: &sum}
}

// sum folds a list.
func (s *stage) sum(version string, items ...Item) Sum {
	fold := s.m.Fold(false)
	for _, item := range items {
		if item.Err != nil {
			fold.Bad(item)
		} else {
			fold.Item(item)
		}
	}
	return fold.Sum(version, 1, false)
}

func failed(reason Reason, code int) Failure {
	return Failure{Reason: reason, Code: code, Err: errors.New(reason.String())}
}

// sent returns the effect of a kind among those of the last step.
func sent[E Effect](s *stage) (e E, ok bool) {
	for _, effect := range s.effects {
		if e, ok := effect.(E); ok {
			return e, true
		}
	}
	return e, false
}
