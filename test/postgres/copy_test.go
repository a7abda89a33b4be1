package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/internal/must"
)

// A program that opens a copy again and again, and can write nothing, does not make it look fresh.
func TestCommittedStaysWhenACopyIsOpened(t *testing.T) {
	r := newRig(t)
	c, state := r.new()
	state = write(t, c, state, "5", put("shop/web", 1, 1))
	committed := func() (at time.Time) {
		t.Helper()
		must.OK(t, r.admin.QueryRow(t.Context(), "SELECT committed FROM "+r.schema+".relist_state").Scan(&at))
		return at
	}
	first := committed()
	next := state
	next.Epoch++
	transact(t, c, state, next, false)
	if got := committed(); !got.Equal(first) {
		t.Errorf("the copy was committed at %v, and opened: %v", first, got)
	}
	transact(t, c, next, next, false) // such as a bookmark
	if got := committed(); !got.After(first) {
		t.Errorf("a commit after %v is at %v", first, got)
	}
}

// TestEqualPutWritesNothing compares where the rows are: an UPDATE, or a lock, would leave a trace
// in xmin or xmax.
func TestEqualPutWritesNothing(t *testing.T) {
	r := newRig(t)
	c, state := r.new()
	state = write(t, c, state, "1", put("a", 1, 1), put("b", 1, 1), put("c", 1, 1, `"x":1`), put("d", 1, 1))
	where := func() string {
		return query(t, r.admin, `SELECT key, ctid::text, xmin::text, xmax::text FROM `+r.schema+`.pods WHERE key = 'a'`)
	}
	before := where()
	write(t, c, state, "2", put("a", 1, 1), put("b", 1, 2), put("c", 1, 1, `"x":2`), put("d", 2, 1))
	if got := where(); got != before {
		t.Errorf("a row that is equal was written: %s, before %s", got, before)
	}
	r.want("a u1 1", "b u1 2", "c u1 1", "d u2 1")
	if got := query(t, r.admin, `SELECT object->'x' FROM `+r.schema+`.pods WHERE key = 'c'`); got != "2" {
		t.Errorf("another object with the same version was not written: %s", got)
	}
}

func TestManyChangesInOneWrite(t *testing.T) {
	r := newRig(t)
	c, state := r.new()
	large := `"x":"` + strings.Repeat("x", 1<<20) + `"` // so that they go in several statements
	var changes []durable.Change[[]byte]
	for i := range 40 {
		changes = append(changes, put(fmt.Sprintf("k%d", i%30), 1, i, large))
	}
	changes = append(changes, gone(durable.Deleted, "k29"))
	write(t, c, state, "1", changes...)
	if got := query(t, r.admin, `SELECT count(*), sum(length(object->>'x')) FROM `+r.schema+`.pods`); got != fmt.Sprint(29, " ", 29<<20) {
		t.Errorf("rows and characters = %s", got)
	}
	if got := query(t, r.admin, `SELECT resource_version FROM `+r.schema+`.pods WHERE key = 'k3'`); got != "33" {
		t.Errorf("the last version of k3 is %s, want 33", got)
	}
}

func TestTransactionThatIsOver(t *testing.T) {
	r := newRig(t)
	c, state := r.new()
	tx, err := c.Begin(t.Context(), state, false)
	must.OK(t, err)
	must.OK(t, tx.Rollback())
	if err := tx.Write(t.Context(), []durable.Change[[]byte]{put("a", 1, 1)}); err == nil {
		t.Error("Write after Rollback: no error")
	}
	if err := tx.Commit(t.Context(), state); err == nil {
		t.Error("Commit after Rollback: no error")
	}
	write(t, c, state, "1", put("b", 1, 1))
	r.want("b u1 1")
}
