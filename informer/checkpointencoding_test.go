package informer_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/informer/informertest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// settings is an object whose parts can be shared.
type settings struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data"`
}

// restartsWith runs three processes that follow each other and share a file. Objects change while a
// process runs and while none does, and nobody writes to what the store has.
func restartsWith[T object.Object](t *testing.T, of listwatch.Options[T], initial reflector.InitialList, expired bool, value func(T) string) {
	synctest.Test(t, func(t *testing.T) {
		server, listener := apitest.StartInMemory(t, apitest.Options{})
		client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
		must.OK(t, err)
		t.Cleanup(client.Close)
		resource, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, of)
		must.OK(t, err)
		set := func(name, value string) {
			if _, err := server.Patch("configmaps", "shop", name, map[string]any{"data": map[string]any{"value": value}}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 8 {
			meta := map[string]any{"namespace": "shop", "name": fmt.Sprint("c", i)}
			if _, err := server.Create("configmaps", map[string]any{"metadata": meta, "data": map[string]any{"value": "0"}}); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(t.TempDir(), "configmaps")
		for round := range 3 {
			lists := 0
			opts := informer.Options[T]{Logger: silent, Checkpoint: checkpoint.File[T](path, checkpoint.Options{})}
			opts.Reflector.Initial = initial
			opts.Reflector.Trace = &reflector.Trace{ListDone: func(reflector.ListDone) { lists++ }}
			in := informer.New(resource, opts)
			informertest.DetectMutations(t, in)
			stop := running(t, in)
			expect := func(key, want string) {
				t.Helper()
				later(10 * time.Second)
				if got, ok := in.Store().Get(key); !ok || value(got) != want {
					t.Errorf("process %d: %s is %v, want %s", round, key, got, want)
				}
			}
			expect("shop/c0", fmt.Sprint(round))
			if in.Store().Len() != 8-round || !in.HasSynced() {
				t.Errorf("process %d: %d objects, synced: %v", round, in.Store().Len(), in.HasSynced())
			}
			if want := round == 0 || expired; (lists > 0) != want {
				t.Errorf("process %d: %d lists", round, lists)
			}
			set("c1", fmt.Sprint("live ", round))
			expect("shop/c1", fmt.Sprint("live ", round))
			stop()
			set("c0", fmt.Sprint(round+1))
			if _, err := server.Delete("configmaps", "shop", fmt.Sprint("c", 7-round)); err != nil {
				t.Fatal(err)
			}
			if expired {
				server.Compact()
			}
			later(time.Minute)
		}
	})
}

// A copy is the same in whatever encoding the objects come, however the first ones are asked for,
// and if they share their parts.
func TestCopyOfObjectsInAnyEncoding(t *testing.T) {
	t.Run("JSON, resumed", func(t *testing.T) {
		restartsWith(t, listwatch.Options[*unstructured.Unstructured]{Encoding: listwatch.JSON}, reflector.FromCache, false,
			func(c *unstructured.Unstructured) string {
				value, _, _ := unstructured.NestedString(c.Object, "data", "value")
				return value
			})
	})
	t.Run("shared parts, expired", func(t *testing.T) {
		restartsWith(t, listwatch.Options[*settings]{ShareParts: true}, reflector.Streaming, true,
			func(c *settings) string { return c.Data["value"] })
	})
	t.Run("lazy, resumed", func(t *testing.T) {
		data := lazy.At[map[string]string]("data")
		encoding, err := lazy.New[*settings](lazy.Options{Fields: []lazy.Named{data}})
		must.OK(t, err)
		of := listwatch.Options[*lazy.Object[*settings]]{Encoding: encoding, Drop: []string{"metadata.managedFields"}}
		restartsWith(t, of, reflector.FromCache, false, func(c *lazy.Object[*settings]) string { return data.Of(c)["value"] })
	})
}
