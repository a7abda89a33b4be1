package check

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

func TestLoadKeepsTheState(t *testing.T) {
	r := newRig(t)
	c, state := r.new()
	if got := asJSON(t, state); got != asJSON(t, durable.State{}) {
		t.Fatalf("a new copy has %s", got)
	}
	next := durable.State{
		Epoch: 1,
		Point: reflector.Point{
			Version: "7", Unsure: []string{"shop/\x00\U0001f642", "shop/web"},
			Newest: []protocol.Newest{{Meta: meta("shop/web", 1, 7), Gone: true}},
		},
		Stream:     durable.Stream{Cluster: "c", Version: "v1", Resource: "pods", Shape: "drop"},
		Unselected: true,
		Reshaped:   true,
	}
	transact(t, c, state, next, false)
	if got, want := asJSON(t, load(t, c)), asJSON(t, next); got != want {
		t.Errorf("Load = %s\nwant %s", got, want)
	}
	other := r.copy(r.open(), pods)
	if got, want := asJSON(t, load(t, other)), asJSON(t, next); got != want {
		t.Errorf("Load of another program = %s\nwant %s", got, want)
	}
}

// A program that opens a copy again and again, and can write nothing, does not make it look fresh.
func TestCommittedStaysWhenACopyIsOpened(t *testing.T) {
	r := newRig(t)
	c, state := r.new()
	state = write(t, c, state, "5", put("shop/web", 1, 1))
	committed := func() (at time.Time) {
		t.Helper()
		if err := r.admin.QueryRow(t.Context(), "SELECT committed FROM "+r.schema+".relist_state").Scan(&at); err != nil {
			t.Fatal(err)
		}
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

func TestWrite(t *testing.T) {
	r := newRig(t)
	c, state := r.new()
	state = write(t, c, state, "1", put("shop/web", 1, 1), put("shop/db", 2, 1), put("node", 3, 1))
	r.want("node u3 1", "shop/db u2 1", "shop/web u1 1")

	// The last change of a key counts; a deletion of what is not there does nothing.
	state = write(t, c, state, "2", put("shop/web", 1, 2), gone(durable.Deleted, "shop/web"), put("shop/web", 9, 3),
		put("shop/db", 2, 2), gone(durable.Missing, "shop/db"), gone(durable.Unselected, "node"), gone(durable.Deleted, "none"))
	r.want("shop/web u9 3")

	tx, err := c.Begin(t.Context(), state, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Write(t.Context(), []durable.Change[[]byte]{gone(durable.Deleted, "shop/web"), put("a", 1, 1)}); err != nil {
		t.Fatal(err)
	}
	keys, err := c.Keys(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "Keys in the transaction", keys, []string{"a"})
	metas, err := c.Held(t.Context(), []string{"shop/web", "a"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "Held in the transaction", metas, []listwatch.Meta{{}, meta("a", 1, 1)})
	r.want("shop/web u9 3") // as others see it
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	r.want("shop/web u9 3")
	if err := tx.Write(t.Context(), []durable.Change[[]byte]{put("a", 1, 1)}); err == nil {
		t.Error("Write after Rollback: no error")
	}
	if err := tx.Commit(t.Context(), state); err == nil {
		t.Error("Commit after Rollback: no error")
	}
	write(t, c, state, "3", put("b", 1, 1))
	r.want("b u1 1", "shop/web u9 3")
}

// TestHeldAndKeys has keys whose order differs between bytes and every language, and such as no row can have.
func TestHeldAndKeys(t *testing.T) {
	r := newRig(t)
	c, state := r.new()
	names := []string{"B", "a-b", "a/b", "a", "ab", "Z/é", "\U0001f642", "a'b", `a\b`, "", "a b", "ﬀ"}
	var changes []durable.Change[[]byte]
	for i, name := range names {
		changes = append(changes, put(name, i, i))
	}
	write(t, c, state, "1", changes...)

	sorted := slices.Sorted(slices.Values(names))[1:] // Keys begins after the empty key, which no object has
	var keys []string
	for after := ""; ; {
		some, err := c.Keys(t.Context(), after, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			break
		}
		keys, after = append(keys, some...), some[len(some)-1]
	}
	equal(t, "Keys", keys, sorted)

	ask := append([]string{"no", "a\x00b", "\xff"}, names...)
	ask = append(ask, "a", "a")
	metas, err := c.Held(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]listwatch.Meta, 3, len(ask))
	for i, name := range names {
		want = append(want, meta(name, i, i))
	}
	equal(t, "Held", metas, append(want, meta("a", 3, 3), meta("a", 3, 3)))
	write(t, c, at(state, "1"), "2", gone(durable.Deleted, "a\x00b"), gone(durable.Missing, "\xff"))
}

// TestEqualPutWritesNothing compares where the rows are: an UPDATE, or a lock, would leave a trace in xmin or xmax.
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

// TestModel does random things with two programs, and compares with a map.
func TestModel(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { testModel(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func testModel(t *testing.T, random *rand.Rand) {
	r := newRig(t)
	opts := pods
	if random.IntN(2) == 0 {
		opts.History, opts.Retention = true, time.Hour
	}
	db := r.open()
	c := r.copy(db, opts)
	state := load(t, c)
	model := map[string]string{}
	version := 0
	for range 60 {
		if random.IntN(10) == 0 { // another program goes on
			old, oldState := c, state
			c = r.copy(db, opts)
			state = load(t, c)
			next := state
			next.Epoch++
			state = transact(t, c, state, next, false)
			if _, err := old.Begin(t.Context(), oldState, false); !errors.Is(err, durable.ErrFenced) {
				t.Fatalf("Begin of a program that was replaced: %v", err)
			}
		}
		version++
		tx, err := c.Begin(t.Context(), state, random.IntN(3) == 0)
		if err != nil {
			t.Fatal(err)
		}
		now := map[string]string{}
		for k, v := range model {
			now[k] = v
		}
		for range random.IntN(3) {
			var changes []durable.Change[[]byte]
			for range random.IntN(12) {
				key := fmt.Sprintf("ns%d/o%d", random.IntN(2), random.IntN(6))
				if random.IntN(3) == 0 {
					changes = append(changes, gone(durable.Deleted, key))
					delete(now, key)
				} else {
					uid, v := random.IntN(3), random.IntN(4)
					changes = append(changes, put(key, uid, v))
					now[key] = fmt.Sprintf("%s u%d %d", key, uid, v)
				}
			}
			if err := tx.Write(t.Context(), changes); err != nil {
				t.Fatal(err)
			}
		}
		next := at(state, fmt.Sprint(version))
		switch random.IntN(4) {
		case 0:
			err = tx.Rollback()
		case 1: // the next Load rolls back
			state = load(t, c)
		default:
			err = tx.Commit(t.Context(), next)
			model, state = now, next
		}
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, v := range model {
			want = append(want, v)
		}
		slices.Sort(want)
		r.want(want...)
		if opts.History {
			present := query(t, r.admin, `SELECT key, uid, resource_version FROM `+r.schema+`.pods_history WHERE to_time IS NULL ORDER BY key`)
			if present != r.rows() {
				t.Fatalf("present states of the history:\n%s\nrows:\n%s", present, r.rows())
			}
		}
		if got := r.version(); state.Point.Version != got {
			t.Fatalf("version = %q, want %q", got, state.Point.Version)
		}
	}
}
