package protocol

import (
	"testing"
	"time"
)

// probed is a settled machine whose watch was cut early and is open again, up to the probe.
func probed(t *testing.T, s *stage) Ask {
	t.Helper()
	s.step(Ended{failed(Cut, 0)})
	s.step(Opened{})
	s.pass(time.Second)
	probe, ok := sent[Ask](s)
	if !ok {
		t.Fatalf("no probe is sent, but %v", s.effects)
	}
	return probe
}

// Of two answers that say "absent" both have to come while the watch is open, so that a deletion has come, too. A second Run
// counts from the beginning.
func TestSecondRunCountsAbsentAnswersFromTheBeginning(t *testing.T) {
	s := newStage()
	s.settled()
	probed(t, s)
	s.step(Answered{Version: "110"})
	s.step(Stopped{})
	s.step(Tick{})
	s.step(Opened{})
	s.pass(time.Second)
	if _, ok := sent[Ask](s); !ok {
		t.Fatalf("no probe is sent, but %v", s.effects)
	}
	s.step(Answered{Version: "110"})
	if relist, ok := sent[Relist](s); ok {
		t.Errorf("one answer after Run began again is enough for %+v", relist)
	}
}

// A server that cannot be asked for one key is asked for any object. That says nothing if an event has changed the object, or
// deleted it, in the meantime.
func TestAnyObjectTellsNothingIfAnEventHasOvertakenIt(t *testing.T) {
	for name, overtake := range map[string]func(s *stage) (held Item){
		"changed": func(s *stage) Item {
			s.step(event(Modified, good("a", "112", "90")))
			return good("a", "90", "112")
		},
		"deleted": func(s *stage) Item {
			s.step(event(Deleted, good("a", "112", "90")))
			return good("a", "90", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage()
			s.settled()
			s.m.unaskableUntil = s.at.Add(unaskableFor)
			if probe := probed(t, s); probe.Key != "" {
				t.Fatalf("%q is asked for, want any object", probe.Key)
			}
			s.step(Answered{Version: "111", Items: []Item{overtake(s)}})
			if relist, ok := sent[Relist](s); ok {
				t.Errorf("the answer is taken for another history: %+v", relist)
			}
		})
	}
}

// While the machine waits because the server asked it to, a server that went back does not cut the wait short.
func TestWentBackDoesNotCutAWaitShort(t *testing.T) {
	s := newStage()
	s.settled()
	probed(t, s)
	s.step(Answered{Version: "50"})
	s.pass(probeAgain)
	if _, ok := sent[Ask](s); !ok {
		t.Fatalf("no second probe is sent, but %v", s.effects)
	}
	s.step(Ended{Failure{Reason: Throttled, Code: 429, RetryAfter: time.Minute, Err: errBadField}})
	until := s.m.Wake()
	if _, ok := sent[Backoff](s); !ok {
		t.Fatalf("the effects are %v, want a wait", s.effects)
	}
	s.step(Answered{Version: "50"})
	if list, ok := sent[List](s); ok {
		t.Errorf("%+v is sent before the wait is over", list)
	}
	s.at = until.Add(2 * time.Minute)
	s.step(Tick{})
	if list, ok := sent[List](s); !ok || list.Version != "" {
		t.Errorf("the effects after the wait are %v, want a list of the most recent state", s.effects)
	}
}

// If the version has expired while a probe is in flight, a list follows, and the probes begin again with the newest object. The answer
// that is still on its way is about another object, and must not be taken for an answer about the newest.
func TestAnswerToAProbeOfAnEarlierWatchDoesNotCount(t *testing.T) {
	s := newStage()
	s.settled()
	s.step(event(Deleted, good("b", "112", "80")))
	if probe := probed(t, s); probe.Key != "b" {
		t.Fatalf("%q is asked for, want b", probe.Key)
	}
	s.step(Answered{Version: "112"}) // b is gone, as it was
	s.pass(10 * time.Second)
	if probe, ok := sent[Ask](s); !ok || probe.Key != "a" {
		t.Fatalf("%q is asked for, want a", probe.Key)
	}
	s.step(Ended{failed(Expired, 0)})
	s.step(Answered{Version: "113", Items: []Item{good("a", "90", "90")}})
	if relist, ok := sent[Relist](s); ok {
		t.Errorf("the answer about a is taken for one about b: %+v", relist)
	}
}
