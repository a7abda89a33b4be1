// Package queuetest checks that what a consumer tells a deltafifo.Queue of the objects that it holds is what the queue
// needs. It is a package of its own so that programs do not link package testing.
package queuetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/relist-go/relist/deltafifo"
	"github.com/relist-go/relist/internal/storetest"
)

// Holder is a consumer's copy: it applies entries, and says what it holds.
type Holder interface {
	deltafifo.Known[*storetest.Object]

	// Process applies an entry, as the process function of Pop does.
	Process(e deltafifo.Entry[*storetest.Object]) error
}

// TestKnown feeds a new holder through a queue that asks it, by events and by lists, and compares what it says it holds
// with what it was given.
func TestKnown(t *testing.T, open func() Holder) {
	holder := open()
	q := deltafifo.New(deltafifo.Options[*storetest.Object]{Known: holder})
	object := func(name string, version int) *storetest.Object {
		return storetest.New("ns", name, fmt.Sprint(version))
	}
	a1, a2, b3, c4 := object("a", 1), object("a", 2), object("b", 3), object("c", 4)
	for _, step := range []struct {
		name string
		do   func() error
		want []*storetest.Object
	}{
		{"empty", func() error { return q.Replace(nil, "0") }, nil},
		{"added", func() error { return q.Add(a1) }, []*storetest.Object{a1}},
		{"updated", func() error { return q.Update(a2) }, []*storetest.Object{a2}},
		{"a list with more", func() error { return q.Replace([]*storetest.Object{b3, a2, c4}, "4") }, []*storetest.Object{a2, b3, c4}},
		{"deleted", func() error { return q.Delete(b3) }, []*storetest.Object{a2, c4}},
		{"a resync", q.Resync, []*storetest.Object{a2, c4}},
		{"a list with less: inferred deletion", func() error { return q.Replace([]*storetest.Object{c4}, "5") }, []*storetest.Object{c4}},
		{"a list of nothing", func() error { return q.Replace(nil, "6") }, nil},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for q.Len() > 0 {
			if err := q.Pop(t.Context(), holder.Process); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
		}
		var keys []string
		for _, obj := range step.want {
			key := "ns/" + obj.Name
			keys = append(keys, key)
			if got, ok := holder.Get(key); !ok || got == nil || got.ResourceVersion != obj.ResourceVersion {
				t.Errorf("%s: Get(%q) = %v, %v; want %v", step.name, key, got, ok, obj)
			}
		}
		got := slices.Sorted(slices.Values(holder.Keys()))
		if !slices.Equal(got, keys) {
			t.Errorf("%s: Keys() = %q, want %q in any order", step.name, got, keys)
		}
		for _, key := range []string{"ns/a", "ns/b", "ns/c", "no/such"} {
			if _, ok := holder.Get(key); ok != slices.Contains(keys, key) {
				t.Errorf("%s: Get(%q) says %v", step.name, key, ok)
			}
		}
	}
}
