package incidents

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/docs/incidents/naive"
	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/trace"
	"github.com/relist-go/relist/transport"
)

// idleType is a control plane as in incident 3: etcd sends no progress notifications, so the cache
// of an idle type stands where it was filled. Nobody writes ConfigMaps after the first one, and
// others write Pods.
type idleType struct {
	*testing.T
	*apitest.Server
	network *memnet.Network

	mu       sync.Mutex
	lists    http.Handler // the API server to which the load balancer leads lists
	watches  http.Handler // the same for watches
	requests []string
}

func newIdleType(t *testing.T) *idleType {
	i := &idleType{T: t, Server: apitest.New(apitest.Options{NoProgress: true}), network: memnet.New()}
	stop := i.network.Serve(&http.Server{Handler: i})
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
		stop()
	})
	i.create("configmaps", "token")
	return i
}

func (i *idleType) create(resource, name string) {
	if _, err := i.Create(resource, map[string]any{"metadata": map[string]any{"namespace": "default", "name": name}}); err != nil {
		i.Fatal(err)
	}
}

// start starts another API server, after others have written. The load balancer leads watches there
// from now on, and lists if it is to.
func (i *idleType) start(name string, lists bool) {
	for _, pod := range []string{"a", "b", "c"} {
		i.create("pods", name+"-"+pod)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.watches = i.Replica(name)
	if lists {
		i.lists = i.watches
	}
}

// ServeHTTP is the load balancer.
func (i *idleType) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	i.mu.Lock()
	kind, to := "list", i.lists
	if req.URL.Query().Has("watch") {
		kind, to = "watch", i.watches
	}
	if version := req.URL.Query().Get("resourceVersion"); version != "" {
		kind += " " + version
	}
	i.requests = append(i.requests, kind)
	i.mu.Unlock()
	to.ServeHTTP(w, req)
}

// said returns what was asked since the last call.
func (i *idleType) said() (requests []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	requests, i.requests = i.requests, nil
	return requests
}

// Incident 3, played live: the client that insists on a version is refused until somebody writes an
// object of its type. No server is behind: both hold the same ConfigMap.
func TestTooLargeInsistent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIdleType(t)
		old := i.Replica("")
		i.start("second", true)
		client, err := naive.Programs["naive-insistent"](trace.Env{Server: "http://server", Path: "/api/v1/namespaces/default/configmaps", Dial: i.network.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- client.Run(ctx) }()
		synctest.Wait()
		if got, want := i.said(), []string{"list 0", "watch 5"}; !slices.Equal(got, want) {
			t.Errorf("it asks %q, want %q", got, want)
		}

		i.mu.Lock()
		i.lists, i.watches = old, old // whose cache of ConfigMaps stands at 2
		i.mu.Unlock()
		i.EndWatches()
		<-time.After(time.Hour + 2*time.Second) // one list waits then
		refused := i.said()
		if n := len(refused); n < 800 || slices.ContainsFunc(refused, func(r string) bool { return r != "list 5" }) {
			t.Errorf("in an hour: %d requests, %q...", n, refused[:min(n, 5)])
		}
		i.create("configmaps", "another")
		<-time.After(5 * time.Second)
		if got, want := i.said(), []string{"watch 6"}; !slices.Equal(got, want) {
			t.Errorf("after a write it asks %q, want %q", got, want)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// relist asks for the most recent state instead, and the old server then reads it from etcd.
func TestTooLargeLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIdleType(t)
		old := i.Replica("")
		i.start("second", true)
		client, err := transport.NewClient(transport.Config{Server: "http://server", Dial: i.network.Dial, Protocol: transport.ProtocolHTTP1})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		type configMap struct {
			metav1.ObjectMeta `json:"metadata"`
		}
		configMaps, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*configMap]{})
		if err != nil {
			t.Fatal(err)
		}
		held := store.New(store.Options[*configMap]{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- reflector.New(configMaps, reflector.InMemory(held), reflector.Options{}).Run(ctx) }()
		<-time.After(30 * time.Second) // less than relist leaves a watch idle
		if got, want := i.said(), []string{"list 0", "watch 5"}; !slices.Equal(got, want) {
			t.Errorf("it asks %q, want %q", got, want)
		}

		i.start("third", false) // it remembers nothing from before 8
		i.mu.Lock()
		i.lists = old // whose cache of ConfigMaps stands at 2
		i.mu.Unlock()
		i.EndWatches()
		<-time.After(30 * time.Second)
		if got, want := i.said(), []string{"watch 5", "list 5", "list", "watch 8"}; !slices.Equal(got, want) {
			t.Errorf("it asks %q, want %q", got, want)
		}
		if keys := held.Keys(); strings.Join(keys, " ") != "default/token" {
			t.Errorf("it holds %q", keys)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
