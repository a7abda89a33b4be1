package protocol

import (
	"errors"
	"testing"
	"time"

	"github.com/relist-go/relist/object"
)

// A sink that refuses the whole state has been failing since it first did, and the delays grow,
// whether the state comes as a list or as initial events, and however long those took.
func TestSinkThatRefusesTheWholeStateFailsSinceItFirstDid(t *testing.T) {
	for name, c := range map[string]struct {
		initial InitialList
		bring   func(s *stage)
	}{
		"list": {FromCache, func(s *stage) { s.step(Listed{Sum: s.sum("100", good("a", "90", ""))}) }},
		"initial events": {Streaming, func(s *stage) {
			s.step(Opened{})
			s.step(event(object.Added, good("a", "90", "")))
			s.step(s.endsInitial("100", good("a", "90", "")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(func(r *Rules) { r.Initial = c.initial })
			s.step(Tick{})
			var first time.Time
			var delay time.Duration
			for range 6 {
				s.at = s.at.Add(15 * time.Second)
				s.full = errors.New("full")
				c.bring(s)
				if first.IsZero() {
					first = s.at
				}
				backoff, ok := sent[Backoff](s)
				if !ok {
					t.Fatalf("the effects are %v, want a wait", s.effects)
				}
				delay = backoff.Delay
				s.tick()
			}
			if failing := s.m.Status().Failing; !failing.Equal(first) {
				t.Errorf("failing since %v, want %v", failing, first)
			}
			if want := 4 * time.Second; delay != want {
				t.Errorf("the sixth delay is %v, want %v", delay, want)
			}
		})
	}
}
