package protocol

import (
	"errors"
	"fmt"
	"testing"

	"github.com/relist-go/relist/object"
)

func TestFoldCounts(t *testing.T) {
	s := newStage()
	fold := s.m.Fold(false)
	fold.Item(good("a", "90", ""))
	fold.Anonymous()
	fold.Bad(bad("b", "95", ""))
	fold.Bad(bad("", "", ""))
	sum := fold.Sum("120", 3, false)
	if sum.Version != "120" || sum.Pages != 3 || sum.Items != 2 || len(sum.Bad) != 1 || sum.Nameless != 1 || sum.MoreBad != 0 || sum.Conflict != nil {
		t.Errorf("the sum is %+v", sum)
	}
}

// The quarantine looks after a thousand; the rest is counted.
func TestFoldKeepsAThousandThatAreBad(t *testing.T) {
	fold := newStage().m.Fold(false)
	for i := range 1005 {
		fold.Bad(bad(fmt.Sprint(i), "95", ""))
	}
	if sum := fold.Sum("120", 1, false); len(sum.Bad) != 1000 || sum.MoreBad != 5 {
		t.Errorf("%d are bad and %d more, want 1000 and 5", len(sum.Bad), sum.MoreBad)
	}
}

// An object of the list that cannot be used has not been deleted: what is held of it stays, unless
// that is another object, which was deleted.
func TestFoldSaysWhatStays(t *testing.T) {
	other := bad("a", "95", "90")
	other.Held.UID = "another"
	cleared := bad("a", "95", "90")
	cleared.Held.UID = ""
	for _, c := range []struct {
		name string
		item Item
		keep bool
	}{
		{"held", bad("a", "95", "90"), true},
		{"held without a UID", cleared, true},
		{"another is held", other, false},
		{"not held", bad("a", "95", ""), false},
		{"no name", bad("", "95", ""), false},
	} {
		if keep := newStage().m.Fold(false).Bad(c.item); keep != c.keep {
			t.Errorf("%s: stays is %v, want %v", c.name, keep, c.keep)
		}
	}
}

// Objects are taken from the sink if they have the same version. Then the list must be of the
// history that the sink has followed: nothing in it may be otherwise than it was at the resume
// version.
func TestFoldOfReusedObjectsSeesAnotherHistory(t *testing.T) {
	cleared := good("a", "95", "95")
	cleared.Held.ResourceVersion = ""
	other := good("a", "95", "95")
	other.Held.UID = "another"
	for _, c := range []struct {
		name     string
		item     Item
		reused   bool
		before   func(*Machine)
		conflict string // how its error ends; empty if the fold succeeds
	}{
		{name: "as it is held", item: good("a", "95", "95"), reused: true},
		{name: "it was changed since", item: good("a", "110", "95"), reused: true},
		{name: "it was not changed since, and is held at another version", item: good("a", "95", "96"), reused: true, conflict: ": a is at 95, and was at 96"},
		{name: "the same at the resume version itself", item: good("a", "100", "96"), reused: true, conflict: ": a is at 100, and was at 96"},
		{name: "the same, and nothing was taken from the sink", item: good("a", "95", "96")},
		{name: "it was not changed since, and another object is held", item: other, reused: true, conflict: ": a is another object at 95 (UID uid of a) than at 95 (UID another)"},
		{name: "not held", item: good("a", "95", ""), reused: true},
		{name: "held without a version", item: cleared, reused: true},
		{name: "its version is no number", item: good("a", "opaque", "95"), reused: true},
		{name: "it is in quarantine", item: good("a", "95", "96"), reused: true, before: func(m *Machine) { m.quarantine.entries["a"] = &entry{} }},
		{name: "an answer has told it", item: good("a", "95", "96"), reused: true, before: func(m *Machine) { m.quarantine.versions = refetchVersions{"a": "110"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage()
			s.settled()
			if c.before != nil {
				c.before(s.m)
			}
			fold := s.m.Fold(c.reused)
			if fold.NeedsHeld() != c.reused {
				t.Errorf("needs what is held is %v, want %v", fold.NeedsHeld(), c.reused)
			}
			fold.Item(c.item)
			err := fold.Sum("120", 1, c.reused).Conflict
			if c.conflict == "" && err == nil {
				return
			}
			if !errors.Is(err, errOtherHistory) || err.Error() != errOtherHistory.Error()+c.conflict {
				t.Errorf("the conflict is %v, want %q", err, c.conflict)
			}
		})
	}
}

// A list that is older than what was seen is of another history, or of a replica that is behind.
func TestFoldOfReusedObjectsSeesAnOlderList(t *testing.T) {
	for _, c := range []struct {
		version  string
		upTo     string
		reused   bool
		conflict bool
	}{
		{version: "100", reused: true},
		{version: "99", reused: true, conflict: true},
		{version: "99"},
		{version: "105", upTo: "110", reused: true, conflict: true},
		{version: "110", upTo: "110", reused: true},
	} {
		s := newStage()
		s.settled()
		if c.upTo != "" {
			s.m.quarantine.versions = refetchVersions{"b": c.upTo}
		}
		if err := s.m.Fold(c.reused).Sum(c.version, 1, c.reused).Conflict; (err != nil) != c.conflict {
			t.Errorf("%+v: the conflict is %v", c, err)
		}
	}
}

// Verification judges by what is left to compare.
func TestComparison(t *testing.T) {
	cleared := good("a", "95", "95")
	cleared.Held = object.Meta{Key: "a"}
	other := good("a", "95", "95")
	other.Held.UID = "another"
	for _, c := range []struct {
		name    string
		item    Item
		before  func(*stage)
		differs bool
	}{
		{name: "as it is held", item: good("a", "95", "95")},
		{name: "held at an older version", item: good("a", "95", "94"), differs: true},
		{name: "held at a newer version", item: good("a", "95", "96"), differs: true},
		{name: "another object is held", item: other, differs: true},
		{name: "not held", item: good("a", "95", ""), differs: true},
		{name: "held without UID and version", item: cleared},
		{name: "an event has come since", item: good("a", "95", "94"), before: in(event(object.Modified, good("a", "102", "94")))},
		{name: "in quarantine", item: good("a", "95", "94"), before: func(s *stage) { s.m.quarantine.entries["a"] = &entry{} }},
		{name: "an answer has told it", item: good("a", "95", "110"), before: func(s *stage) { s.m.quarantine.versions = refetchVersions{"a": "110"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage()
			verifying(s)
			if c.before != nil {
				c.before(s)
			}
			comparison := s.m.Comparison()
			comparison.Item(c.item)
			found := comparison.Differences()
			if found.Objects != 1 || found.Count != len(found.Keys) || (found.Count == 1) != c.differs {
				t.Errorf("found %+v, want a difference: %v", found, c.differs)
			}
			for _, d := range found.Keys {
				if !errors.Is(d.Err, errDiffers) || d.Meta.Key != "a" {
					t.Errorf("the difference is %+v", d)
				}
			}
		})
	}
}

// A key that the server lacks differs. More than a hundred differences are only counted.
func TestComparisonCountsWhatIsMissing(t *testing.T) {
	s := newStage()
	verifying(s)
	comparison := s.m.Comparison()
	for i := range 150 {
		comparison.Missing(fmt.Sprint(i))
	}
	if found := comparison.Differences(); found.Objects != 0 || found.Count != 150 || len(found.Keys) != maxDifferences {
		t.Errorf("found %d of %d, and %d keys", found.Count, found.Objects, len(found.Keys))
	}
}
