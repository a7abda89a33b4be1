package protocol

import (
	"testing"
	"time"

	"github.com/relist-go/relist/object"
)

// idleAfter returns how long the watch that is open may bring nothing.
func (s *stage) idleAfter(t *testing.T) time.Duration {
	t.Helper()
	p, ok := s.m.phase.(*watching)
	if !ok || !p.open {
		t.Fatalf("the machine is %s, want an open watch", s.m.phaseName())
	}
	return s.m.idleAt(p).Sub(p.heard)
}

// idleUntilEnd lets the watch be idle until it is opened again, and answers that.
func (s *stage) idleUntilEnd(t *testing.T) {
	t.Helper()
	for range 100 {
		s.tick()
		if _, ok := sent[Refetch](s); ok { // the server is the one it was
			s.step(Refetched{Version: "100", Items: []Item{good("a", "90", "90")}})
		}
		if disconnect, ok := sent[Cancel](s); ok {
			watch, ok := sent[Watch](s)
			if from, _ := s.m.history.repeats(s.m.resume); disconnect.Reason != IdleTimeout || !ok || watch.Version != from {
				t.Fatalf("effects are %v, want a watch from %s after idle time", s.effects, from)
			}
			s.step(Opened{})
			return
		}
	}
	t.Fatal("the watch is idle forever")
}

// Before its first bookmark a watch may be idle for about a minute, by jitter. If the watch that is
// opened instead brings nothing either, there may be nothing to say: the next may be idle for twice
// as long, up to the end of its timeout.
func TestIdleTimeBeforeABookmarkIsLearned(t *testing.T) {
	for _, jitter := range []float64{0, 0.999} {
		s := newStage(func(r *Rules) {
			r.MinTimeout = 24 * time.Hour
			r.Rand = func() float64 { return jitter }
		})
		s.watched()
		first := s.idleAfter(t)
		if first < 50*time.Second || first > 90*time.Second {
			t.Fatalf("the first limit is %v, want 50 to 90 s", first)
		}
		for want := 2 * first; want < time.Hour; want *= 2 {
			s.idleUntilEnd(t)
			if got := s.idleAfter(t); got != want {
				t.Fatalf("the limit is %v, want %v", got, want)
			}
		}
		for range 2 {
			s.idleUntilEnd(t)
			if got := s.idleAfter(t); got != time.Hour {
				t.Fatalf("the limit is %v, want an hour at most", got)
			}
		}
	}
}

// If the watch that is opened instead brings something at once, the one before it was dead: the
// limit is the first again.
func TestIdleTimeOfADeadWatchIsNotLearned(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
		first bool
	}{
		{"what was missed", time.Second, true},
		{"what happens later", 10 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage()
			s.watched()
			first := s.idleAfter(t)
			s.idleUntilEnd(t)
			s.at = s.at.Add(c.after)
			s.step(event(object.Modified, good("a", "101", "90")))
			s.idleUntilEnd(t)
			want := 2 * first
			if !c.first {
				want = 4 * first
			}
			if got := s.idleAfter(t); got != want {
				t.Errorf("the limit is %v, want %v", got, want)
			}
		})
	}
}

// After a bookmark the limit is one and a half of the time between bookmarks, and 90 s at least.
func TestIdleTimeAfterABookmark(t *testing.T) {
	for _, c := range []struct{ gap, want time.Duration }{
		{10 * time.Second, 90 * time.Second},
		{time.Minute, 90 * time.Second},
		{80 * time.Second, 2 * time.Minute},
	} {
		s := newStage()
		s.watched()
		s.step(markAt("101"))
		if got := s.idleAfter(t); got != 90*time.Second {
			t.Errorf("after one bookmark the limit is %v, want 90s", got)
		}
		s.at = s.at.Add(c.gap)
		s.step(markAt("102"))
		if got := s.idleAfter(t); got != c.want {
			t.Errorf("with %v between bookmarks the limit is %v, want %v", c.gap, got, c.want)
		}
	}
}

// Whatever the stream or its bytes bring is a sign of life; what other requests bring is not.
func TestSignsOfLife(t *testing.T) {
	for _, c := range []struct {
		name  string
		tick  func(at time.Time) Tick
		lives bool
	}{
		{"its own bytes", func(at time.Time) Tick { return Tick{Main: at} }, true},
		{"bytes of a refetch", func(at time.Time) Tick { return Tick{Refetch: at} }, false},
		{"bytes of a verification", func(at time.Time) Tick { return Tick{Verification: at} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage()
			s.watched()
			limit := s.idleAfter(t)
			s.at = s.at.Add(limit - time.Second)
			s.step(c.tick(s.at))
			s.at = s.at.Add(2 * time.Second)
			s.step(Tick{})
			if _, ended := sent[Cancel](s); ended == c.lives {
				t.Errorf("given up is %v, want %v", ended, !c.lives)
			}
		})
	}
}

// A watch without a version cannot be resumed, so its idle time has no limit but its timeout.
func TestWatchWithoutAVersionMayBeIdle(t *testing.T) {
	s := newStage()
	s.step(Tick{})
	s.step(Listed{Sum: s.sum("", good("a", "90", ""))})
	s.step(Opened{})
	s.pass(5*time.Minute + margin - time.Second)
	if _, ended := sent[Cancel](s); ended {
		t.Error("given up before its timeout")
	}
	s.pass(time.Second)
	if disconnect, _ := sent[Cancel](s); disconnect.Reason != TimedOut {
		t.Errorf("effects are %v, want the end of the timeout", s.effects)
	}
}
