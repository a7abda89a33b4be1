package simulation

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// clock tells how much time has passed since some moment.
type clock interface{ now() time.Duration }

// wall is time as it passes since that moment.
type wall time.Time

func (w wall) now() time.Duration { return time.Since(time.Time(w)) }

// metronome counts beats. It is on time on a machine that has time for this program, and
// stands still with everything else here while the machine has none: such a delay is
// one beat, however long.
type metronome struct{ beats atomic.Int64 }

const beat = 5 * time.Millisecond

// startMetronome starts one, and stops it when the test has ended.
func startMetronome(t *testing.T) *metronome {
	m := new(metronome)
	ticker, done := time.NewTicker(beat), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ticker.C:
				m.beats.Add(1)
			case <-done:
				return
			}
		}
	})
	t.Cleanup(func() {
		ticker.Stop()
		close(done)
		running.Wait()
	})
	return m
}

func (m *metronome) now() time.Duration { return time.Duration(m.beats.Load()) * beat }
