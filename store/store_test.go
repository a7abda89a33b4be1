package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/store"
)

func TestAllMayWrite(t *testing.T) {
	s := store.New(store.Options[*testObject]{})
	for _, name := range []string{"a", "b", "c", "d"} {
		must(t, s.Add(newObject("", name, "1")))
	}
	var seen []string
	for key, obj := range s.All() {
		seen = append(seen, key)
		must(t, s.Delete(obj))
		must(t, s.Add(newObject("", key+"-again", "2")))
		if key == "c" {
			break
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, seen); diff != "" {
		t.Errorf("the iteration saw its own writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a-again", "b-again", "c-again", "d"}, s.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestVersions(t *testing.T) {
	for _, test := range []struct{ current, next, want string }{
		{"", "5", "5"},
		{"5", "", "5"},
		{"5", "0", "5"},
		{"", "0", ""},
		{"9", "10", "10"},
		{"10", "9", "10"},
		{"10", "10", "10"},
		{"18446744073709551615", "18446744073709551616", "18446744073709551616"}, // beyond 64 bits
		{"5", "abc", "5"},
		{"5", "007", "5"},
		{"", "abc", "abc"},
		{"abc", "abd", "abd"},
		{"abc", "1", "1"},
	} {
		s := store.New(store.Options[*testObject]{})
		s.Bookmark(test.current)
		s.Bookmark(test.next)
		if got := s.ResourceVersion(); got != test.want {
			t.Errorf("%q, then %q: %q, want %q", test.current, test.next, got, test.want)
		}
	}
	s := store.New(store.Options[*testObject]{})
	s.Bookmark("5000")
	s.SetResourceVersion("3000")
	if got := s.ResourceVersion(); got != "3000" {
		t.Errorf("after SetResourceVersion: %q, want 3000: it is meant to go back", got)
	}
}

func TestErrorsSayWhat(t *testing.T) {
	s := store.New(store.Options[*testObject]{Indexers: store.Indexers[*testObject]{"color": byColor}})
	for _, test := range []struct {
		err  error
		want string
	}{
		{s.Replace([]*testObject{newObject("ns", "", "1")}, "1"), `store: replace: item 0 of 1: key of a *store_test.testObject in namespace "ns" with uid "uid-": object has no name`},
		{func() error { _, err := s.ByIndex("x", "y"); return err }(), `unknown index "x": the store has [color]`},
	} {
		if test.err == nil || test.err.Error() != test.want {
			t.Errorf("error %v\nwant  %s", test.err, test.want)
		}
	}
	if err := s.Add(newObject("ns", "", "1")); !errors.Is(err, object.ErrNoName) {
		t.Errorf("an object without a name: %v", err)
	}
	if _, err := s.ByIndex("x", "y"); !errors.Is(err, store.ErrUnknownIndex) {
		t.Errorf("an unknown index: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBookmarkedStoreMovesByBookmarks(t *testing.T) {
	s := store.New(store.Options[*testObject]{VersionFromMarks: true})
	must(t, s.Replace(nil, "10"))
	must(t, s.Add(newObject("", "a", "30")))
	must(t, s.Delete(newObject("", "a", "40")))
	if got := s.ResourceVersion(); got != "10" {
		t.Errorf("ResourceVersion() = %q after objects at 30 and 40, want 10", got)
	}
	s.Bookmark("40")
	if got := s.ResourceVersion(); got != "40" {
		t.Errorf("ResourceVersion() = %q after a bookmark at 40", got)
	}
}
