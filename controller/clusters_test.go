package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist"
	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

type ConfigMap struct {
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data,omitempty"`
}

// copyToClusters keeps a copy of each original in each cluster.
func copyToClusters(ctx context.Context, originals *relist.Resource[*ConfigMap], clusters map[string]*relist.Resource[*ConfigMap]) error {
	copyTo := func(ctx context.Context, copies *relist.Resource[*ConfigMap], key string) error {
		original, wanted := originals.Store().Get(key)
		if have, exists := copies.Store().Get(key); exists && !wanted {
			return copies.Delete(ctx, key, writer.DeleteOptions{UID: have.UID})
		}
		if !wanted {
			return nil
		}
		meta := metav1.ObjectMeta{Namespace: original.Namespace, Name: original.Name, Labels: original.Labels}
		_, err := copies.CreateOrModify(ctx, meta, func(c *ConfigMap) { c.Data = original.Data })
		return err
	}

	reconcile := func(ctx context.Context, key string) (time.Duration, error) {
		cluster, key, _ := strings.Cut(key, "/") // "west" and "shop/prices"
		return 0, copyTo(ctx, clusters[cluster], key)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var runs sync.WaitGroup
	for cluster, copies := range clusters {
		keys := func(c *ConfigMap) []string { return []string{cluster + "/" + object.Key(c)} }
		runs.Go(func() {
			fail(controller.Run(ctx, reconcile, controller.Options{Logger: slog.With("cluster", cluster)},
				controller.Watches(originals, keys), controller.Watches(copies, keys)))
		})
	}
	runs.Wait()
	return context.Cause(ctx)
}

// A cluster that is away, when the program starts or later, keeps its copies from nobody else, and
// gets what it has missed when it is back.
func TestClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := map[string]*apitest.Server{}
		open := func(name string) *relist.Resource[*ConfigMap] {
			server, listener := apitest.StartInMemory(t, apitest.Options{})
			client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
			must.OK(t, err)
			t.Cleanup(client.Close)
			configMaps, err := relist.New(client, object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"},
				relist.Options[*ConfigMap]{ListWatch: listwatch.Options[*ConfigMap]{LabelSelector: "copied"}})
			must.OK(t, err)
			servers[name] = server
			return configMaps
		}
		must := func(_ string, err error) {
			t.Helper()
			must.OK(t, err)
		}
		write := func(name, data string) {
			t.Helper()
			must(servers["hub"].Create("configmaps", map[string]any{
				"metadata": map[string]any{"namespace": "shop", "name": name, "labels": map[string]any{"copied": ""}}, "data": map[string]any{"a": data},
			}))
		}
		originals, clusters := open("hub"), map[string]*relist.Resource[*ConfigMap]{}
		for _, name := range []string{"north", "east", "south", "west"} {
			clusters[name] = open(name)
		}
		has := func(name string) string {
			t.Helper()
			objects, _, err := servers[name].List("configmaps", "")
			must("", err)
			var all []string
			for _, obj := range objects {
				all = append(all, fmt.Sprint(obj["metadata"].(map[string]any)["name"], obj["data"].(map[string]any)["a"]))
			}
			return strings.Join(all, " ")
		}
		// after looks at every cluster when some time has passed.
		after := func(d time.Duration, want, away, awayHas string) {
			t.Helper()
			<-time.After(d)
			for name := range clusters {
				if name == away {
					if got := has(name); got != awayHas {
						t.Errorf("%s is away and has %q, want %q", name, got, awayHas)
					}
				} else if got := has(name); got != want {
					t.Errorf("%s has %q, want %q", name, got, want)
				}
			}
		}

		must("", servers["west"].Refuse(0))
		write("tea", "1")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- copyToClusters(ctx, originals, clusters) }()
		after(time.Minute, "tea1", "west", "")
		must("", servers["west"].Resume())
		after(time.Minute, "tea1", "", "")

		must("", servers["east"].Refuse(0))
		must(servers["hub"].Delete("configmaps", "shop", "tea"))
		write("bread", "2")
		after(time.Hour, "bread2", "east", "tea1")
		must("", servers["east"].Resume())
		after(5*time.Minute, "bread2", "", "")

		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
