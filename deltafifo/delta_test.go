package deltafifo_test

import (
	"fmt"
	"testing"

	"github.com/relist-go/relist/deltafifo"
)

func TestTypeString(t *testing.T) {
	got := fmt.Sprint(deltafifo.Type(0), deltafifo.Added, deltafifo.Updated, deltafifo.Deleted, deltafifo.Replaced,
		deltafifo.Sync, deltafifo.Type(6))
	if want := "Type(0) Added Updated Deleted Replaced Sync Type(6)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The deltas of an entry belong to the process function: later changes must not
// appear in them.
func TestDeltasMayBeKept(t *testing.T) {
	f := newFixture(t, options{Coalesce: true})
	var kept []deltafifo.Entry[*testObject]
	for range 3 {
		f.update("a@1")
		f.update("a@2")
		f.delete("a@3")
		f.must(f.q.Pop(t.Context(), func(e deltafifo.Entry[*testObject]) error {
			kept = append(kept, e)
			f.update("a@9")
			f.update("a@10")
			return nil
		}))
		f.must(popOne(t.Context(), f.q))
	}
	for _, e := range kept {
		if got, want := format(e), "a: Updated@2 Deleted@3"; got != want {
			t.Errorf("an entry kept by its consumer became %q, was %q", got, want)
		}
	}
}
