package clientgo

import (
	"sync"
	"testing"
	"time"
)

// patience is how long something that must happen may take. It is only spent when the test fails.
const patience = time.Minute

// A signal wakes those who wait for a condition each time it may have become true.
// The zero value is ready.
type signal struct {
	mu sync.Mutex
	ch chan struct{} // closed at the next notify; nil while nobody waits
}

func (s *signal) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// await waits until the condition holds, and reports whether it came to.
func (s *signal) await(t *testing.T, holds func() bool) bool {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		next := s.wait() // before the condition is looked at, so that no change is missed
		if holds() {
			return true
		}
		select {
		case <-next:
		case <-deadline.C:
			return false
		}
	}
}
