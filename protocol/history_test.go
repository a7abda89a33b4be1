package protocol

import (
	"testing"
	"time"
)

// checked is a settled machine whose watch was cut early and is open again, up to the question.
func checked(t *testing.T, s *stage) Ask {
	t.Helper()
	s.step(Ended{failed(Cut, 0)})
	s.step(Opened{})
	s.pass(time.Second)
	question, ok := sent[Ask](s)
	if !ok {
		t.Fatalf("nothing is asked for, but %v", s.effects)
	}
	return question
}

// While the machine waits because the server asked it to, a server that went back does not cut the wait short.
func TestWentBackDoesNotCutAWaitShort(t *testing.T) {
	s := newStage()
	s.settled()
	checked(t, s)
	s.step(Ended{Failure{Reason: Throttled, Code: 429, RetryAfter: time.Minute, Err: errBadField}})
	until := s.m.Wake()
	if _, ok := sent[Backoff](s); !ok {
		t.Fatalf("the effects are %v, want a wait", s.effects)
	}
	s.step(Answered{Failure: failed(TooLarge, 504)})
	if list, ok := sent[List](s); ok {
		t.Errorf("%+v is sent before the wait is over", list)
	}
	s.at = until.Add(2 * time.Minute)
	s.step(Tick{})
	if list, ok := sent[List](s); !ok || list.Version != "" {
		t.Errorf("the effects after the wait are %v, want a list of the most recent state", s.effects)
	}
}
