package protocol

import (
	"testing"
	"time"
)

// A list without a resourceVersion leaves nothing to compare at. The verification waits for one, and the machine asks for no
// Tick meanwhile.
func TestVerificationWaitsForAVersion(t *testing.T) {
	s := newStage(func(r *Rules) { r.Verify = time.Minute })
	s.step(Tick{})
	s.step(Listed{s.sum("", good("a", "90", ""))})
	s.step(Opened{})
	s.at = s.at.Add(2 * time.Minute)
	s.step(Tick{})
	if _, ok := sent[ListMetadata](s); ok {
		t.Error("a verification has begun without a version to compare at")
	}
	if at := s.m.Wake(); !at.IsZero() && !at.After(s.at) {
		t.Errorf("the machine wants a Tick %v ago, and has just had one", s.at.Sub(at))
	}
	s.step(markAt("100"))
	s.tick()
	if _, ok := sent[ListMetadata](s); !ok {
		t.Errorf("effects are %v after the version came, want a verification", s.effects)
	}
}
