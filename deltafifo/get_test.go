package deltafifo_test

import (
	"testing"

	"github.com/relist-go/relist/deltafifo"
)

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
