package sink_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/sink"
)

func shardOf(t *testing.T, index, count int) string {
	t.Helper()
	selector, err := listwatch.Shard(index, count)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

// inShard returns the keys of the server's objects that are in a shard.
func (r *rig) inShard(shard string) string {
	r.t.Helper()
	configs, err := listwatch.New(r.client, configMaps, listwatch.Options[*thing]{ShardSelector: shard})
	if err != nil {
		r.t.Fatal(err)
	}
	list, err := listwatch.All(r.t.Context(), configs, metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, obj := range list.Items {
		keys[obj.Namespace+"/"+obj.Name] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(keys)), " ")
}

// A copy of one shard is no copy of another: of one that has other objects, of all objects, or of a part of them.
func TestOtherShard(t *testing.T) {
	for _, other := range []struct{ name, from, to string }{
		{"another half", shardOf(t, 0, 2), shardOf(t, 1, 2)},
		{"all", shardOf(t, 0, 2), ""},
		{"less", "", shardOf(t, 0, 2)},
	} {
		t.Run(other.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRigOf(t, apitest.Options{Sharding: true})
				for i := range 12 {
					r.create("a", fmt.Sprint("o", i), nil)
				}
				from, to := r.inShard(other.from), r.inShard(other.to)
				_ = r.run(listwatch.Options[*thing]{ShardSelector: other.from}, nil, nil)
				if r.rows() != from {
					t.Fatalf("rows: %s; want %s", r.rows(), from)
				}
				r.commits = nil
				_ = r.run(listwatch.Options[*thing]{ShardSelector: other.to}, nil, nil)
				if r.rows() != to {
					t.Errorf("the other shard: rows %s; want %s", r.rows(), to)
				}
				if missing := r.told(sink.Missing); missing != "" {
					t.Errorf("missing: %s; they are in the shard before", missing)
				}
			})
		})
	}
}

// A program changes its shard while it runs, and ends before or after the list: what is in the copy is never taken for a copy of
// another shard, by this program or the next.
func TestShardChangesMeanwhile(t *testing.T) {
	half, all := shardOf(t, 0, 2), ""
	for _, change := range []struct {
		name    string
		shards  []string // that the first program sets, one after the other
		after   time.Duration
		restart string
	}{
		{"all, then restarted with a half", []string{all}, time.Minute, half},
		{"all, then restarted with all", []string{all}, time.Minute, all},
		{"all, then restarted at once", []string{all}, 0, all},
		{"another half, and back", []string{shardOf(t, 1, 2), half}, 0, half},
		{"another half, and all", []string{shardOf(t, 1, 2), all}, time.Millisecond, all},
	} {
		t.Run(change.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRigOf(t, apitest.Options{Sharding: true})
				for i := range 12 {
					r.create("a", fmt.Sprint("o", i), nil)
				}
				_ = r.run(listwatch.Options[*thing]{ShardSelector: half}, nil, func(*sink.Mirror[*thing]) {
					for _, shard := range change.shards {
						if err := r.configs.SetShardSelector(shard); err != nil {
							t.Fatal(err)
						}
						later(change.after)
					}
					if last := change.shards[len(change.shards)-1]; change.after >= time.Minute && r.rows() != r.inShard(last) {
						t.Errorf("the first program: rows %s; want %s", r.rows(), r.inShard(last))
					}
				})
				_ = r.run(listwatch.Options[*thing]{ShardSelector: change.restart}, nil, nil)
				if want := r.inShard(change.restart); r.rows() != want {
					t.Errorf("the second program: rows %s; want %s", r.rows(), want)
				}
				if missing := r.told(sink.Missing); missing != "" {
					t.Errorf("missing: %s; nothing was deleted", missing)
				}
				if log := r.log.String(); strings.Contains(log, "WARN") {
					t.Errorf("the log warns:\n%s", log)
				}
			})
		})
	}
}

// The list of the new shard fails, and the program ends with changes that were not committed. They are of the shard before.
func TestShardChangesWithoutAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOf(t, apitest.Options{Sharding: true})
		for i := range 12 {
			r.create("a", fmt.Sprint("o", i), nil)
		}
		half := shardOf(t, 0, 2)
		slow := func(o *sink.Options) { o.BatchDelay = time.Hour }
		_ = r.run(listwatch.Options[*thing]{ShardSelector: half}, slow, func(m *sink.Mirror[*thing]) {
			for i := range 40 { // so many that some are in the half, whatever their UIDs
				r.create("b", fmt.Sprint("o", i), nil)
			}
			later(time.Second)
			if m.Status().Pending == 0 {
				t.Fatal("no change waits: the test has become harmless")
			}
			r.refuse(time.Hour)
			if err := r.configs.SetShardSelector(""); err != nil {
				t.Fatal(err)
			}
			later(time.Minute)
		})
		if err := r.server.Resume(); err != nil {
			t.Fatal(err)
		}
		if s := r.place.state; s.Unselected || s.Stream.ShardSelector != half {
			t.Errorf("the state is of the shard %q, unselected: %v; want that of the rows", s.Stream.ShardSelector, s.Unselected)
		}
		_ = r.run(listwatch.Options[*thing]{}, nil, nil)
		if want := r.inShard(""); r.rows() != want {
			t.Errorf("the second program: rows %s; want %s", r.rows(), want)
		}
	})
}

// The shard changes when a list has come and is not committed: nobody knows of which shard it is, so the copy is opened again, at once.
func TestShardChangesInAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOf(t, apitest.Options{Sharding: true})
		for i := range 12 {
			r.create("a", fmt.Sprint("o", i), nil)
		}
		changed := false
		during := func(o *sink.Options) {
			o.Trace = &sink.Trace{ListPart: func(int) {
				if changed {
					return
				}
				changed = true
				if err := r.configs.SetShardSelector(""); err != nil {
					t.Error(err)
				}
			}}
		}
		_ = r.run(listwatch.Options[*thing]{ShardSelector: shardOf(t, 0, 2)}, during, nil)
		if want := r.inShard(""); r.rows() != want || r.place.state.Stream.ShardSelector != "" || r.place.state.Epoch != 2 {
			t.Errorf("rows %s of the shard %q after %d openings; want %s", r.rows(), r.place.state.Stream.ShardSelector, r.place.state.Epoch, want)
		}
		if strings.Contains(r.log.String(), "copy cannot be written") {
			t.Errorf("the log blames the copy:\n%s", r.log.String())
		}
	})
}
