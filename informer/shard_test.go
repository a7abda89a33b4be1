package informer_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

func createPods(t *testing.T, server *apitest.Server, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, err := server.Create("pods", map[string]any{"metadata": map[string]any{"namespace": "shop", "name": fmt.Sprintf("p%d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
}

// A saved copy of one range is used for that range, and not for another one.
func TestCopyOfAnotherShardIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{Sharding: true})
		createPods(t, server, 0, 20)
		client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
		must.OK(t, err)
		defer client.Close()
		path := filepath.Join(t.TempDir(), "pods")
		keysOf := func(index int) []string {
			t.Helper()
			shard, err := listwatch.Shard(index, 2)
			must.OK(t, err)
			pods, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{ShardSelector: shard})
			must.OK(t, err)
			in := informer.New(pods, informer.Options[*Pod]{Logger: silent, Checkpoint: checkpoint.File[*Pod](path, checkpoint.Options{})})
			stop := running(t, in)
			synctest.Wait()
			keys := in.Store().Keys()
			stop()
			return keys
		}
		first := keysOf(0)
		must.OK(t, server.Refuse(time.Hour))
		if keys := keysOf(1); len(keys) > 0 {
			t.Errorf("another range has %q of the copy", keys)
		}
		if keys := keysOf(0); len(first) == 0 || !slices.Equal(keys, first) {
			t.Errorf("the copy has %q, want those of its range %q", keys, first)
		}
	})
}
