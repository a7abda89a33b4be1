package sqlite_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/internal/must"
)

var _ durable.Copy[text] = (*sqlite.Copy[text])(nil)

// Each key is looked up in the index: the time does not grow with the table.
func TestHeldAndKeysUseTheIndex(t *testing.T) {
	r := newRig(t, durable.Table{})
	held, keys := sqlite.Plan(r.copy)
	if len(held) != 2 || !strings.HasPrefix(held[0], "SCAN k ") || !strings.HasSuffix(held[1], "(cluster=? AND key=?)") {
		t.Errorf("Held does %q", held)
	}
	if len(keys) != 1 || !strings.HasSuffix(keys[0], "(cluster=? AND key>?)") {
		t.Errorf("Keys does %q", keys)
	}
}

// A program that opens a copy again and again, and can write nothing, does not make it look fresh.
func TestCommittedStaysWhenACopyIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, durable.Table{})
		r.at.Epoch = 0
		r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
		committed := func() string { return r.query("SELECT committed FROM relist_state")[0] }
		first := committed()
		<-time.After(time.Hour)
		r.begin(false)
		next := state(r.at.Epoch+1, r.at.Point.Version)
		must.OK(t, r.tx.Commit(t.Context(), next))
		if got := committed(); first == "" || got != first {
			t.Errorf("the copy was committed at %q, and opened: %q", first, got)
		}
		if _, err := r.copy.Begin(t.Context(), r.at, false); !errors.Is(err, durable.ErrFenced) || !strings.Contains(err.Error(), r.path) {
			t.Errorf("Begin at the state before: %v", err)
		}
		r.at = next
		r.commit(false, "5") // such as a bookmark
		if got := committed(); got <= first {
			t.Errorf("a commit an hour after %q is at %q", first, got)
		}
		r.db.Close()
	})
}

func TestRows(t *testing.T) {
	r := newRig(t, durable.Table{Cluster: "east", Columns: []string{"node=.spec.nodeName"}})
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

// A Put of what is there writes no row: the log grows by the page of the state alone.
func TestPutOfTheSame(t *testing.T) {
	r := newRig(t, durable.Table{Columns: []string{"node=.spec.nodeName"}})
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

// After a Write that has failed, nothing of the transaction is committed.
func TestWriteThatFails(t *testing.T) {
	r := newRig(t, durable.Table{Columns: []string{"node=.spec.nodeName"}})
	r.commit(true, "5", put("shop/a", "u1", "1", "n1"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for want, ctx := range map[string]context.Context{"put shop/c": t.Context(), context.Canceled.Error(): ended} {
		r.begin(false)
		r.write(gone(durable.Deleted, "shop/a", "u1", "7"))
		err := r.tx.Write(ctx, []durable.Change[text]{{Meta: meta("shop/c", "u", "1"), Op: durable.Put, Object: "{"}}) // no JSON
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), r.path) {
			t.Errorf("Write: %v, want %s", err, want)
		}
		if err := r.tx.Commit(t.Context(), state(1, "9")); err == nil {
			t.Error("Commit after that: no error")
		}
		r.load()
		if got := r.query("SELECT key FROM pods"); r.at.Point.Version != "5" || !slices.Equal(got, []string{"shop/a"}) {
			t.Errorf("rows %q at version %q", got, r.at.Point.Version)
		}
	}
	r.commit(false, "8", put("shop/d", "u4", "8", "n1"))
}
