package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/reflector"
)

var _ durable.Copy[text] = (*sqlite.Copy[text])(nil)

// A server can say anything, also a name that no row has.
func TestHeldOfAKeyThatIsNoUTF8(t *testing.T) {
	r := newRig(t, sqlite.Table{})
	r.commit(true, "10", put("a/b", "u1", "1", "n1"))
	got, err := r.copy.Held(t.Context(), []string{"a/\xff", "a/b"})
	if err != nil || got[0].Key != "" || got[1].ResourceVersion != "1" {
		t.Errorf("%+v, %v; want no row for the first, and that of the second", got, err)
	}
}

func TestState(t *testing.T) {
	r := newRig(t, sqlite.Table{})
	if !cmp.Equal(r.at, durable.State{}) {
		t.Errorf("the state of an empty file is %+v", r.at)
	}
	want := durable.State{
		Epoch: 7,
		Point: reflector.Point{
			Version: "12", Unsure: []string{"a/b", "c"},
			Newest: []protocol.Newest{{Meta: meta("a/b", "u", "11"), Gone: true}},
		},
		Stream: durable.Stream{
			Cluster: "uid", Group: "g", Version: "v1", Resource: "pods", Namespace: "n",
			LabelSelector: "a=b", FieldSelector: "c=d", Shape: "s",
		},
		Unselected: true,
		Reshaped:   true,
	}
	r.begin(false)
	if err := r.tx.Commit(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	r.load()
	if diff := cmp.Diff(want, r.at); diff != "" {
		t.Errorf("Load after a commit (-want +got):\n%s", diff)
	}
}

// Each key is looked up in the index: the time does not grow with the table.
func TestHeldAndKeysUseTheIndex(t *testing.T) {
	r := newRig(t, sqlite.Table{})
	held, keys := sqlite.Plan(r.copy)
	if len(held) != 2 || !strings.HasPrefix(held[0], "SCAN k ") || !strings.HasSuffix(held[1], "(cluster=? AND key=?)") {
		t.Errorf("Held does %q", held)
	}
	if len(keys) != 1 || !strings.HasSuffix(keys[0], "(cluster=? AND key>?)") {
		t.Errorf("Keys does %q", keys)
	}
}

func TestFence(t *testing.T) {
	r := newRig(t, sqlite.Table{})
	begins := func(s durable.State) bool {
		t.Helper()
		tx, err := r.copy.Begin(t.Context(), s, false)
		if err == nil {
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			return true
		}
		if !errors.Is(err, durable.ErrFenced) || !strings.Contains(err.Error(), r.path) {
			t.Errorf("Begin: %v", err)
		}
		return false
	}
	if begins(state(1, "")) || begins(state(0, "5")) {
		t.Error("begun at a state that was never committed")
	}
	if !begins(state(0, "")) {
		t.Error("the first transaction is fenced")
	}
	r.at = state(0, "")
	r.commit(false, "")
	if !begins(state(0, "")) {
		t.Error("fenced at the state that was committed")
	}
	r.at.Epoch, r.at.Point.Version = 0, ""
	r.begin(false)
	if err := r.tx.Commit(t.Context(), state(3, "9")); err != nil {
		t.Fatal(err)
	}
	for _, s := range []durable.State{{}, state(3, ""), state(3, "8"), state(2, "9"), state(4, "9")} {
		if begins(s) {
			t.Errorf("begun at %v although the state is another", s)
		}
	}
	if !begins(state(3, "9")) {
		t.Error("fenced at the state that was committed")
	}
}

// A program that opens a copy again and again, and can write nothing, does not make it look fresh.
func TestCommittedStaysWhenACopyIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sqlite.Table{})
		r.at.Epoch = 0
		r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
		committed := func() string { return r.query("SELECT committed FROM relist_state")[0] }
		first := committed()
		<-time.After(time.Hour)
		r.begin(false)
		next := state(r.at.Epoch+1, r.at.Point.Version)
		if err := r.tx.Commit(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if got := committed(); first == "" || got != first {
			t.Errorf("the copy was committed at %q, and opened: %q", first, got)
		}
		r.at = next
		r.commit(false, "5") // such as a bookmark
		if got := committed(); got <= first {
			t.Errorf("a commit an hour after %q is at %q", first, got)
		}
		r.db.Close()
	})
}

// Two programs that open an empty file must not both write the first list.
func TestFenceOfAnEmptyFile(t *testing.T) {
	r := newRigWith(t, sqlite.Table{}, sqlite.Options{Shared: true})
	db, err := sqlite.Open(r.path, r.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	second := newCopy(t, db, sqlite.Table{})
	if s, err := second.Load(t.Context()); err != nil || s.Epoch != 0 {
		t.Fatalf("Load = %v, %v", s, err)
	}
	r.begin(true)
	r.write(put("shop/a", "u1", "1", "n1"))
	done := make(chan error, 1)
	go func() {
		_, err := second.Begin(context.Background(), durable.State{}, true)
		done <- err
	}()
	if err := r.tx.Commit(t.Context(), state(1, "5")); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, durable.ErrFenced) {
		t.Errorf("the second program's Begin: %v", err)
	}
	if s, err := second.Load(t.Context()); err != nil || s.Epoch != 1 || s.Point.Version != "5" {
		t.Errorf("Load = %v, %v", s, err)
	}
}

func TestRows(t *testing.T) {
	r := newRig(t, sqlite.Table{Cluster: "east", Columns: []string{"node=.spec.nodeName"}})
	r.commit(true, "5",
		put("shop/web-0", "u1", "1", "n1"), put("shop/web-1", "u2", "2", "n2"), put("node-1", "u3", "3", ""),
		put("shop/web-1", "u2", "4", "n3"), gone(durable.Deleted, "shop/none", "u9", "5"))
	want := []string{
		"east|node-1||node-1|u3|3||{\"app\":\"web\"}|2026-01-02T03:04:05Z",
		"east|shop/web-0|shop|web-0|u1|1|n1|{\"app\":\"web\"}|2026-01-02T03:04:05Z",
		"east|shop/web-1|shop|web-1|u2|4|n3|{\"app\":\"web\"}|2026-01-02T03:04:05Z",
	}
	columns := "SELECT cluster, key, namespace, name, uid, resource_version, node, labels, created FROM pods ORDER BY key"
	if diff := cmp.Diff(want, r.query(columns)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	r.commit(false, "6", gone(durable.Deleted, "shop/web-0", "u1", "6"), put("shop/web-1", "u4", "6", "n9"))
	want = []string{want[0], "east|shop/web-1|shop|web-1|u4|6|n9|{\"app\":\"web\"}|2026-01-02T03:04:05Z"}
	if diff := cmp.Diff(want, r.query(columns)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if got := r.query("SELECT object FROM pods WHERE node = 'n9'"); !slices.Equal(got, []string{pod("shop/web-1", "u4", "6", "n9")}) {
		t.Errorf("object = %s", got)
	}
}

func TestHeldAndKeys(t *testing.T) {
	r := newRig(t, sqlite.Table{Cluster: "east"})
	west := newCopy(t, r.db, sqlite.Table{Cluster: "west"})
	odd := []string{`a"b`, "a'b", "b\u00e9", "b\U0001f600", "B", "a/b", "a-b", "a/c%d", "z\\n", "a b", "[0]", "a/../b"}
	var changes []durable.Change[text]
	for i, key := range odd {
		changes = append(changes, durable.Change[text]{Meta: meta(key, fmt.Sprint("u", i), fmt.Sprint(i)), Op: durable.Put, Object: "{}"})
	}
	check := func(when string) {
		t.Helper()
		got, err := r.copy.Held(t.Context(), append([]string{"none", odd[3], odd[3]}, odd...))
		if err != nil {
			t.Fatal(err)
		}
		want := []listwatch.Meta{{}, changes[3].Meta, changes[3].Meta}
		for _, c := range changes {
			want = append(want, c.Meta)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Held %s (-want +got):\n%s", when, diff)
		}
		sorted := slices.Sorted(slices.Values(odd))
		for _, limit := range []int{1, 3, len(odd), 100} {
			var keys []string
			for after := ""; ; {
				page, err := r.copy.Keys(t.Context(), after, limit)
				if err != nil || len(page) > limit {
					t.Fatalf("%d keys of %d, %v", len(page), limit, err)
				}
				if len(page) == 0 {
					break
				}
				keys, after = append(keys, page...), page[len(page)-1]
			}
			if !slices.Equal(keys, sorted) {
				t.Errorf("Keys %s, %d at a time: %q, want %q", when, limit, keys, sorted)
			}
		}
	}
	if got, err := r.copy.Held(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("Held of no keys = %v, %v", got, err)
	}
	r.begin(false)
	r.write(changes...)
	check("in a transaction")
	if err := r.tx.Commit(t.Context(), state(1, "1")); err != nil {
		t.Fatal(err)
	}
	check("after it")
	if keys, err := west.Keys(t.Context(), "", 10); err != nil || len(keys) != 0 {
		t.Errorf("the keys of another cluster: %q, %v", keys, err)
	}
	if metas, err := west.Held(t.Context(), odd[:1]); err != nil || metas[0] != (listwatch.Meta{}) {
		t.Errorf("the rows of another cluster: %v, %v", metas, err)
	}
}

// A Put of what is there writes no row: the log grows by the page of the state alone.
func TestPutOfTheSame(t *testing.T) {
	r := newRig(t, sqlite.Table{Columns: []string{"node=.spec.nodeName"}})
	r.commit(true, "5", put("shop/a", "u1", "1", "n1"), put("shop/b", "u2", "2", "n1"))
	r.other("CREATE TABLE written (key TEXT)", `CREATE TRIGGER watch AFTER UPDATE ON pods BEGIN INSERT INTO written VALUES (new.key); END`)
	r.load()
	same := put("shop/a", "u1", "1", "n1")
	uid, version, object := same, same, same
	uid.Meta.UID, version.Meta.ResourceVersion, object.Object = "u7", "2", "{}"
	r.commit(true, "6", same, put("shop/b", "u2", "2", "n1"))
	if got := r.query("SELECT key FROM written"); len(got) != 0 {
		t.Errorf("written: %q", got)
	}
	for _, other := range []durable.Change[text]{uid, version, object} {
		r.commit(true, "6", other)
	}
	if got := r.query("SELECT key FROM written"); len(got) != 3 {
		t.Errorf("written: %q, want three", got)
	}
}

func TestRollback(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"Rollback": func(r *rig) {
			if err := r.tx.Rollback(); err != nil {
				r.t.Error(err)
			}
		},
		"Load": func(*rig) {},
		"a cancelled Write": func(r *rig) {
			ctx, cancel := context.WithCancel(r.t.Context())
			cancel()
			if err := r.tx.Write(ctx, []durable.Change[text]{put("shop/c", "u3", "3", "n")}); !errors.Is(err, context.Canceled) {
				r.t.Errorf("Write: %v", err)
			}
			if err := r.tx.Commit(r.t.Context(), state(1, "9")); err == nil {
				r.t.Error("a transaction was committed after a Write that failed")
			}
		},
		"a cancelled Commit": func(r *rig) {
			ctx, cancel := context.WithCancel(r.t.Context())
			cancel()
			if err := r.tx.Commit(ctx, state(1, "9")); !errors.Is(err, context.Canceled) {
				r.t.Errorf("Commit: %v", err)
			}
		},
		"an object that is no JSON": func(r *rig) {
			err := r.tx.Write(r.t.Context(), []durable.Change[text]{{Meta: meta("shop/c", "u", "1"), Op: durable.Put, Object: "{"}})
			if err == nil || !strings.Contains(err.Error(), "put shop/c") || !strings.Contains(err.Error(), r.path) {
				r.t.Errorf("Write: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sqlite.Table{Columns: []string{"node=.spec.nodeName"}})
			r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
			r.begin(false)
			r.write(put("shop/b", "u2", "6", "n1"), gone(durable.Deleted, "shop/a", "u1", "7"))
			end(r)
			r.load()
			if r.at.Point.Version != "5" {
				t.Errorf("version %q", r.at.Point.Version)
			}
			if keys, err := r.copy.Keys(t.Context(), "", 9); err != nil || !slices.Equal(keys, []string{"shop/a"}) {
				t.Errorf("keys %q, %v", keys, err)
			}
			if err := r.tx.Write(t.Context(), nil); err == nil {
				t.Error("a transaction that is over was written to")
			}
			r.commit(false, "8", put("shop/d", "u4", "8", "n1"))
		})
	}
}
