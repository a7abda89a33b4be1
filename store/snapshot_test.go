package store_test

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/relist-go/relist/store"
)

// TestSnapshotIsOneMoment writes generations of objects, by Replace and then one by one, while
// readers take snapshots. Within a snapshot every reader must tell the same story.
func TestSnapshotIsOneMoment(t *testing.T) {
	const generations, objects = 40, 200
	s := store.New(store.Options[*testObject]{Indexers: store.Indexers[*testObject]{"color": byColor}})
	list := func(generation int) []*testObject {
		var items []*testObject
		for i := range objects {
			items = append(items, newObject("ns", fmt.Sprintf("%03d", i), strconv.Itoa(generation), "red"))
		}
		return items
	}
	must(t, s.Replace(list(1), "1"))

	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				checkMoment(t, s.Snapshot())
				if got := len(s.List()); got != objects {
					t.Errorf("List: %d objects, want %d", got, objects)
				}
			}
		})
	}
	for g := 2; g <= generations; g++ {
		if g%2 == 0 {
			must(t, s.Replace(list(g), strconv.Itoa(g)))
			continue
		}
		for _, obj := range list(g) {
			must(t, s.Update(obj))
		}
	}
	close(done)
	readers.Wait()
}

// checkMoment is about a store whose objects are updated in key order, one generation after the
// other.
func checkMoment(t *testing.T, snapshot *store.Snapshot[*testObject]) {
	t.Helper()
	list := snapshot.List()
	red, err := snapshot.ByIndex("color", "red")
	if err != nil || len(red) != len(list) || len(list) != snapshot.Len() {
		t.Errorf("%d in the list, %d in the index, error %v; want %d", len(list), len(red), err, snapshot.Len())
		return
	}
	i := 0
	for key, obj := range snapshot.All() {
		if got, ok := snapshot.Get(key); !ok || got != obj || list[i] != obj || red[i] != obj {
			t.Errorf("%s: the readers of one snapshot do not agree", key)
		}
		i++
	}
	// The first is of the newest generation, and the snapshot is at that version.
	if got, want := list[0].ResourceVersion, snapshot.ResourceVersion(); got != want {
		t.Errorf("the first object is of version %s, the snapshot of %s", got, want)
	}
}

// A snapshot costs the same whatever the store holds, and the next write copies nodes, not the
// store.
func TestSnapshotIsCheap(t *testing.T) {
	s := store.New(store.Options[*testObject]{})
	var items []*testObject
	for i := range 100_000 {
		items = append(items, newObject("ns", fmt.Sprintf("%06d", i), "1"))
	}
	must(t, s.Replace(items, "1"))
	var before, after runtime.MemStats
	const rounds = 100
	runtime.ReadMemStats(&before)
	for range rounds {
		s.Snapshot()
		must(t, s.Update(items[50_000]))
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / rounds; got > 16<<10 {
		t.Errorf("a snapshot and a write of a store of 100,000 objects allocate %d bytes; want a few nodes", got)
	}
}
