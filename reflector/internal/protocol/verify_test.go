package protocol

import (
	"testing"
	"time"
)

// A list without a version leaves no version to verify at. The machine then waits for the next period; it does not want a
// tick again and again.
func TestVerificationWithoutAVersionIsPutOff(t *testing.T) {
	s := newStage(func(r *Rules) { r.Verify, r.MinTimeout = 10*time.Minute, 0 })
	s.step(Tick{})
	s.step(Listed{s.sum("", good("a", "", ""))})
	s.step(Opened{})
	s.at = s.m.Wake()
	s.step(Tick{})
	if at := s.m.Wake(); !at.Equal(s.at.Add(10 * time.Minute)) {
		t.Errorf("the next tick is wanted after %v, want 10m", at.Sub(s.at))
	}
}
