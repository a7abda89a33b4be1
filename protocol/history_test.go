package protocol

import (
	"fmt"
	"testing"
	"time"

	"github.com/relist-go/relist/object"
)

// checked is a settled machine whose watch was cut early and is open again, up to the question.
func checked(t *testing.T, s *stage) Refetch {
	t.Helper()
	s.step(Ended{failed(ConnectionLost, 0)})
	s.step(Opened{})
	s.pass(time.Second)
	question, ok := sent[Refetch](s)
	if !ok {
		t.Fatalf("nothing is asked for, but %v", s.effects)
	}
	return question
}

// While the machine waits because the server asked it to, a server that rolled back does not cut
// the wait short.
func TestRolledBackDoesNotCutAWaitShort(t *testing.T) {
	s := newStage()
	s.settled()
	checked(t, s)
	s.step(Ended{Failure{Reason: Throttled, Code: 429, RetryAfter: time.Minute, Err: errBadField}})
	until := s.m.Wake()
	if _, ok := sent[Backoff](s); !ok {
		t.Fatalf("the effects are %v, want a wait", s.effects)
	}
	s.step(Refetched{Failure: failed(TooLarge, 504)})
	if list, ok := sent[List](s); ok {
		t.Errorf("%+v is sent before the wait is over", list)
	}
	s.at = until.Add(2 * time.Minute)
	s.step(Tick{})
	if list, ok := sent[List](s); !ok || list.Version != "" {
		t.Errorf("the effects after the wait are %v, want a list of the most recent state", s.effects)
	}
}

// A server repeats no event that the resume version has not passed. Here the sink refuses so many
// changes that a list is due, so the last one is not passed: a copy that is saved now continues
// behind the one before it.
func TestEventBeforeAListIsNotToBeRepeated(t *testing.T) {
	s := newStage()
	s.settled()
	for i := range maxRefused + 1 {
		s.full = errBadField
		s.step(event(object.Added, good(fmt.Sprint("a", i), fmt.Sprint(101+i), "")))
	}
	point := s.m.Point()
	for _, newest := range point.Newest {
		if object.Older(point.Version, newest.Meta.ResourceVersion) {
			t.Errorf("a copy at %s is to see %s again", point.Version, newest.Meta.ResourceVersion)
		}
	}
}

// If the driver stops before the sink has answered, because the sink has panicked, the event comes
// again, and is no repetition.
func TestEventThatTheSinkHasNotAnsweredComesAgain(t *testing.T) {
	s := newStage()
	s.settled()
	s.m.Step(s.at, event(object.Added, good("b", "101", "")))
	s.step(Stopped{})
	s.tick()
	s.step(Opened{})
	s.step(event(object.Added, good("b", "101", "")))
	if _, ok := sent[Apply](s); !ok {
		t.Errorf("the effects are %v, want the event applied", s.effects)
	}
}

// If the connection has changed within a list, the server may have been restored meanwhile, so it
// is asked for what came before that.
func TestListOverTwoConnectionsHasAHistoryCheck(t *testing.T) {
	s := newStage()
	s.step(Tick{})
	fold := s.m.Fold(false)
	fold.Item(good("a", "90", ""))
	fold.Reconnected()
	fold.Item(good("b", "95", ""))
	s.step(Listed{Sum: fold.Sum("100", 2, false)})
	s.step(Opened{})
	if p := s.m.Point(); p.Version != "" {
		t.Errorf("the copy can be saved at %s, and the server is unverified", p.Version)
	}
	s.tick()
	if ask, _ := sent[Refetch](s); ask != (Refetch{"a", "100"}) {
		t.Errorf("asked for %+v, want a exactly at 100", ask)
	}
	s.step(Refetched{Version: "100", Items: []Item{good("a", "90", "90")}})
	if p := s.m.Point(); p.Version != "100" {
		t.Errorf("the copy can be saved at %q, want 100", p.Version)
	}
}
