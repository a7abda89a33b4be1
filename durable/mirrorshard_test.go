package durable_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
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
	list, err := source.All(r.t.Context(), configs, metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, obj := range list.Items {
		keys[obj.Namespace+"/"+obj.Name] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(keys)), " ")
}

// A copy of one shard is no copy of another: of one that has other objects, of all objects, or of a
// part of them.
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
				if inferred := r.told(durable.Inferred); inferred != "" {
					t.Errorf("inferred: %s; they are in the shard before", inferred)
				}
			})
		})
	}
}
