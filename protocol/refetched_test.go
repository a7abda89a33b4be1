package protocol

import (
	"errors"
	"strconv"
	"testing"

	"github.com/relist-go/relist/object"
)

// If the sink refuses too much, the resume version rolls back to before the event at hand, and so
// do the refetch versions that the event had reached: a replica that is behind must not take back
// what a refetch has told.
func TestRefetchVersionOutlivesAnEventThatTheSinkRefuses(t *testing.T) {
	s := newStage()
	s.settled()
	s.m.quarantine.refetchedTo(s.m.resume, "a", "300")
	for i := range maxRefused {
		s.full = errors.New("full")
		s.step(event(object.Added, good("k"+strconv.Itoa(i), strconv.Itoa(101+i), "")))
	}
	s.full = errors.New("full")
	s.step(event(object.Added, good("l", "310", "")))
	if resume := s.m.Resume(); resume != "200" {
		t.Fatalf("the resume version is %s, want 200", resume)
	}
	s.tick()
	if list, ok := sent[List](s); !ok || list.Version != "300" {
		t.Errorf("the effects are %v, want a list that is not older than 300", s.effects)
	}
}
