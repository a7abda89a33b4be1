package protocol

import (
	"slices"
	"testing"
	"time"

	"github.com/relist-go/relist/object"
)

// refetchedAfter notes how long each refetch of b is waited for, while b stays as it is.
func refetchedAfter(t *testing.T, s *stage, answers int, answer func() Refetched) []time.Duration {
	t.Helper()
	var waits []time.Duration
	since := s.at
	for len(waits) < answers {
		s.at = latest(s.at, s.m.Wake())
		s.step(Tick{Main: s.at}) // the watch is well
		if eff, ok := sent[Refetch](s); ok {
			if eff.Key != "b" {
				t.Fatalf("%q is asked for, want b", eff.Key)
			}
			waits = append(waits, s.at.Sub(since))
			s.step(answer())
			since = s.at
		}
	}
	return waits
}

// An object that stays as it is, is asked for less and less often. An event that changes it begins
// again.
func TestBackoffOfRefetches(t *testing.T) {
	s := newStage(func(r *Rules) { r.MinTimeout = 0 })
	quarantined(s)
	stillBad := func() Refetched { return Refetched{Version: "105", Items: []Item{bad("b", "105", "95")}} }
	sec := time.Second
	want := []time.Duration{sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 32 * sec, 64 * sec, 128 * sec, 256 * sec, 512 * sec, 600 * sec, 600 * sec}
	if got := refetchedAfter(t, s, len(want), stillBad); !slices.Equal(got, want) {
		t.Errorf("it is asked for after %v, want %v", got, want)
	}
	s.step(event(object.Modified, bad("b", "106", "95")))
	changed := func() Refetched { return Refetched{Version: "106", Items: []Item{bad("b", "106", "95")}} }
	if got := refetchedAfter(t, s, 3, changed); !slices.Equal(got, want[:3]) {
		t.Errorf("when it has changed, it is asked for after %v, want %v", got, want[:3])
	}
}

// A refetch waits for a token of lists, and takes it.
func TestRefetchTakesAToken(t *testing.T) {
	s := newStage(func(r *Rules) { r.MinTimeout = 0 })
	quarantined(s)
	full := s.at.Add((burst + 1) * refill)
	s.m.backoff.listsFullAt = full
	got := refetchedAfter(t, s, 1, func() Refetched { return Refetched{Version: "105", Items: []Item{bad("b", "105", "95")}} })
	if now := s.m.backoff.listsFullAt; got[0] != 2*refill || !now.Equal(full.Add(refill)) {
		t.Errorf("it is asked for after %v, and the bucket is full at %v, not at %v", got, now, full)
	}
}

// The least of the times comes first, whatever the order in which objects came in.
func TestEachInQuarantineHasItsTurn(t *testing.T) {
	s := newStage(func(r *Rules) { r.MinTimeout = 0 })
	s.settled()
	for i, key := range []string{"c", "b", "d"} {
		s.at = s.at.Add(100 * time.Millisecond)
		s.step(event(object.Modified, bad(key, []string{"101", "102", "103"}[i], "95")))
	}
	var order string
	for len(order) < 9 {
		s.at = latest(s.at, s.m.Wake())
		s.step(Tick{Main: s.at})
		if eff, ok := sent[Refetch](s); ok {
			order += eff.Key
			s.step(Refetched{Failure: failed(Unavailable, 503)})
		}
	}
	if order != "cbdcbdcbd" {
		t.Errorf("they are asked for in the order %s, want cbd three times", order)
	}
}

// A deletion that was answered, and a list, leave nobody in quarantine who is well, and Quarantine
// tells in the order of keys.
func TestQuarantineTellsWhoIsInIt(t *testing.T) {
	s := newStage()
	s.settled()
	for _, key := range []string{"c", "b", "d"} {
		s.step(event(object.Modified, bad(key, "101", "95")))
	}
	changes := s.m.QuarantineChanges()
	told := func() string {
		var keys string
		all, _ := s.m.Quarantine()
		for _, q := range all {
			keys += q.Meta.Key
		}
		return keys
	}
	if got := told(); got != "bcd" {
		t.Errorf("in quarantine are %s, want bcd", got)
	}
	s.step(event(object.Deleted, good("c", "102", "95")))
	if got := told(); got != "bd" || s.m.QuarantineChanges() == changes {
		t.Errorf("in quarantine are %s, want bd, and a change", got)
	}
	changes = s.m.QuarantineChanges()
	s.step(event(object.Modified, good("a", "103", "90")))
	if s.m.QuarantineChanges() != changes {
		t.Error("an event of an object that is well has changed the quarantine")
	}
}

// A list of an older history says as of which version an object is bad. Answers are measured by
// that, not by a version that the server may not come to for a long time.
func TestListOfAnOlderHistoryIsWhatAnswersAreMeasuredBy(t *testing.T) {
	s := newStage(func(r *Rules) { r.MinTimeout = 0 })
	s.step(Tick{})
	s.step(Listed{Sum: s.sum("100", good("a", "90", ""), bad("b", "40", ""))})
	s.step(Opened{})
	s.m.rolledBack(s.at, errOtherHistory)
	s.step(Listed{Sum: s.sum("50", good("a", "30", "90"), bad("b", "40", ""))})
	s.step(Opened{})
	s.pass(checkAfter)
	s.step(Refetched{Version: "50", Items: []Item{bad("b", "40", "")}}) // this is what the storage has, too
	s.pass(5 * time.Second)
	if eff, ok := sent[Refetch](s); !ok || eff.Key != "b" || eff.At != "" {
		t.Fatalf("the effects are %v, want a refetch of b", s.effects)
	}
	s.step(Refetched{Version: "60", Items: []Item{good("b", "55", "")}})
	if len(s.m.quarantine.entries) != 0 {
		t.Errorf("the effects are %v, want the answer as of 60 applied after a list as of 50", s.effects)
	}
}

// A reader of the quarantine looks again if it has changed, so a saved copy that counts objects
// without naming them is a change, too.
func TestSavedCopyWithoutNamesChangesTheQuarantine(t *testing.T) {
	s := newStage()
	before := s.m.QuarantineChanges()
	s.step(ResumeSaved{Point{Version: "100", MoreUnsure: 2}})
	if _, more := s.m.Quarantine(); more != 2 || s.m.QuarantineChanges() == before {
		t.Errorf("%d more objects, changed %t", more, s.m.QuarantineChanges() != before)
	}
}
