package informer_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// replica is one of the programs that split the Pods between them.
type replica struct {
	*informer.Informer[*Pod]
	told map[string]bool // what the handler has been told of, by its last callback
}

// startReplica runs an informer until the test has ended.
func startReplica(t *testing.T, listener *apitest.Listener, shard string) *replica {
	t.Helper()
	client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{ShardSelector: shard})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{told: map[string]bool{}}
	r.Informer = informer.New(pods, informer.Options[*Pod]{Logger: silent})
	_, err = r.AddHandler(informer.Handler[*Pod]{
		OnAdd:    func(pod *Pod, _ bool) { r.told[object.Key(pod)] = true },
		OnDelete: func(pod *Pod, _ bool) { delete(r.told, object.Key(pod)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := running(t, r)
	t.Cleanup(func() {
		stop()
		client.Close()
	})
	return r
}

func shardOf(t *testing.T, index, count int) string {
	t.Helper()
	selector, err := listwatch.Shard(index, count)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

// split fails the test unless the replicas have each Pod of the server once, and their handlers know.
func split(t *testing.T, server *apitest.Server, replicas ...*replica) {
	t.Helper()
	synctest.Wait()
	holders := map[string]int{}
	for i, r := range replicas {
		if have := r.Store().Keys(); !slices.Equal(have, slices.Sorted(maps.Keys(r.told))) {
			t.Errorf("replica %d has %d Pods, and its handler %d", i, len(have), len(r.told))
		}
		for _, key := range r.Store().Keys() {
			holders[key]++
		}
	}
	all, _, err := server.List("pods", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(holders) {
		t.Errorf("%d Pods in all replicas together, want %d", len(holders), len(all))
	}
	for key, n := range holders {
		if n != 1 {
			t.Errorf("%d replicas have %s", n, key)
		}
	}
}

func createPods(t *testing.T, server *apitest.Server, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, err := server.Create("pods", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": fmt.Sprintf("p%d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
}

// Each of three replicas has its part, by list and by watch, and its handler knows.
func TestShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{Sharding: true})
		createPods(t, server, 0, 60)
		var replicas []*replica
		for i := range 3 {
			replicas = append(replicas, startReplica(t, listener, shardOf(t, i, 3)))
		}
		split(t, server, replicas...)
		createPods(t, server, 60, 90) // by watch
		if _, err := server.Delete("pods", "shop", "p7"); err != nil {
			t.Fatal(err)
		}
		split(t, server, replicas...)
		for i, r := range replicas {
			if r.Store().Len() == 0 {
				t.Errorf("replica %d has nothing", i)
			}
		}
	})
}

// A saved copy of one range is used for that range, and not for another one.
func TestCopyOfAnotherShardIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{Sharding: true})
		createPods(t, server, 0, 20)
		client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		path := filepath.Join(t.TempDir(), "pods")
		keysOf := func(shard string) []string {
			t.Helper()
			pods, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{ShardSelector: shard})
			if err != nil {
				t.Fatal(err)
			}
			in := informer.New(pods, informer.Options[*Pod]{Logger: silent, Checkpoint: checkpoint.File[*Pod](path, checkpoint.Options{})})
			stop := running(t, in)
			synctest.Wait()
			keys := in.Store().Keys()
			stop()
			return keys
		}
		first := keysOf(shardOf(t, 0, 2))
		if err := server.Refuse(time.Hour); err != nil {
			t.Fatal(err)
		}
		if keys := keysOf(shardOf(t, 1, 2)); len(keys) > 0 {
			t.Errorf("another range has %q of the copy", keys)
		}
		if keys := keysOf(shardOf(t, 0, 2)); len(first) == 0 || !slices.Equal(keys, first) {
			t.Errorf("the copy has %q, want those of its range %q", keys, first)
		}
	})
}
