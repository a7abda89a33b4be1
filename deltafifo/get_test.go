package deltafifo_test

import (
	"slices"
	"testing"

	"github.com/relist-go/relist/deltafifo"
)

// Get returns the state after all entries have been processed: it prefers what waits
// to what is being processed, and that to what Known holds.
func TestGet(t *testing.T) {
	f := newFixture(t, deltafifo.Options[*testObject]{}, "a@1", "b@1", "c@1")
	want := func(key, version string) {
		t.Helper()
		obj, ok := f.q.Get(key)
		if ok != (version != "") || ok && obj.ResourceVersion != version {
			t.Errorf("Get(%q) = %v, %v, want version %q", key, obj, ok, version)
		}
	}
	f.update("a@2")
	f.delete("b@2")
	f.add("d@2")
	want("a", "2")
	want("b", "")
	want("c", "1")
	want("d", "2")
	want("e", "")
	f.pop(func() {
		want("a", "2") // being processed
		f.update("a@3")
		want("a", "3")
	})
	f.pop(func() { want("b", "") })
	f.drain()
	want("a", "3")
	want("b", "")
	want("d", "2")
}

func TestKeys(t *testing.T) {
	f := newFixture(t, deltafifo.Options[*testObject]{}, "a@1", "b@1", "c@1")
	want := func(keys ...string) {
		t.Helper()
		if got := f.q.Keys(); !slices.Equal(got, keys) {
			t.Errorf("Keys() = %q, want %q", got, keys)
		}
	}
	f.add("d@2")
	f.delete("b@2")
	f.replace("a@1", "d@2")
	want("a", "d")
	f.pop(func() { want("a", "d") })
	f.drain()
	want("a", "d")
}

func TestGetWithoutKnown(t *testing.T) {
	q := deltafifo.New(deltafifo.Options[*testObject]{})
	if err := q.Add(obj("a@1")); err != nil {
		t.Fatal(err)
	}
	if obj, ok := q.Get("a"); !ok || obj.ResourceVersion != "1" {
		t.Errorf("Get of what waits = %v, %v", obj, ok)
	}
	if err := popOne(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if obj, ok := q.Get("a"); ok {
		t.Errorf("Get of what was consumed = %v", obj)
	}
}

// Entries shows what waits, in order, and takes nothing.
func TestEntries(t *testing.T) {
	f := newFixture(t, deltafifo.Options[*testObject]{}, "a@1")
	f.update("a@2")
	f.add("b@2")
	f.delete("a@3")
	for range 2 {
		entries := f.q.Entries()
		if len(entries) != 2 || entries[0].Key != "a" || len(entries[0].Deltas) != 2 || entries[1].Key != "b" {
			t.Errorf("%+v, want a with two deltas, and then b", entries)
		}
	}
	f.drain()
	if entries := f.q.Entries(); len(entries) != 0 {
		t.Errorf("%+v after everything was taken", entries)
	}
}
