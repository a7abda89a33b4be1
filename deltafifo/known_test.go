package deltafifo_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/store"
)

// What a queue's entries leave in a store that the queue asks is what the producer told it.
func TestStoreIsKnown(t *testing.T) {
	f := newFixture(t, options{})
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"empty", func() { f.replace() }, nil},
		{"added", func() { f.add("a@1") }, []string{"a@1"}},
		{"updated", func() { f.update("a@2") }, []string{"a@2"}},
		{"a list with more", func() { f.replace("b@3", "a@2", "c@4") }, []string{"a@2", "b@3", "c@4"}},
		{"deleted", func() { f.delete("b@3") }, []string{"a@2", "c@4"}},
		{"a resync", f.resync, []string{"a@2", "c@4"}},
		{"a list with less: inferred deletion", func() { f.replace("c@4") }, []string{"c@4"}},
		{"a list of nothing", func() { f.replace() }, nil},
	} {
		step.do()
		f.drain()
		var held []string
		for key, obj := range f.known.All() {
			held = append(held, key+"@"+obj.ResourceVersion)
		}
		if diff := cmp.Diff(step.want, held); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// Without Known, only objects that are queued or being processed exist.
func TestNobodyKnown(t *testing.T) {
	q := deltafifo.New(options{})
	f := &fixture{T: t, q: q, known: store.New(store.Options[*testObject]{})}
	f.add("a@1")
	f.drain()
	f.delete("a@2")
	f.resync()
	f.add("b@3")
	f.replace("c@4")
	f.want("a: Added@1", "b: Added@3 Deleted?@3 initial", "c: Replaced@4 initial")
}
