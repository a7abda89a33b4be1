// Package relay_test puts a relay in front of a real API server.
package relay_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/server/relay"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// rig is a relay in front of a real API server.
type rig struct {
	*testing.T
	cluster *cluster.Cluster
	client  *transport.Client // of the API server
	relay   *relay.Relay
	url     string
	stop    func()
	killed  atomic.Bool // the API server was, so reviews may have failed
}

func newRig(t *testing.T) *rig {
	c := cluster.New(t, cluster.Options{})
	client, err := transport.NewClient(config(c.Access().URL, c.Access().CAFile, c.Access().AdminToken))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	r := &rig{T: t, cluster: c, client: client}
	for i := range 5 {
		r.write(http.MethodPost, "/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":"c%d","labels":{"n":"%d"}},"data":{"a":"<&>"}}`, i, i%2))
	}
	r.start(t.TempDir())
	return r
}

func config(server, caFile, token string) transport.Config {
	return transport.Config{Server: server, TLS: transport.TLSConfig{CAFile: caFile}, BearerToken: token}
}

// write sends a write to the API server.
func (r *rig) write(method, path, body string) {
	r.Helper()
	req := transport.Request{Path: path, Header: http.Header{"Content-Type": {"application/json"}}}
	resp, err := r.client.Do(r.Context(), method, req, []byte(body))
	if err != nil {
		r.Fatal(err)
	}
	_ = resp.Body.Close()
}

// start starts the relay with the windows of a folder.
func (r *rig) start(dir string) {
	r.Helper()
	opts := relay.Options{
		Dir:          dir,
		Authenticate: relay.TokenReviews(r.client, time.Minute),
		Authorize:    relay.AccessReviews(r.client, time.Minute, time.Second),
		OnProblem: func(err error) {
			if r.killed.Load() {
				r.Log("problem:", err)
			} else {
				r.Error("problem:", err)
			}
		},
	}
	for _, name := range []string{"configmaps", "namespaces", "pods"} {
		resource, err := discovery.Resolve(r.Context(), r.client, name)
		if err != nil {
			r.Fatal(err)
		}
		opts.Resources = append(opts.Resources, *resource)
	}
	var err error
	if r.relay, err = relay.New(r.client, opts); err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.relay.Run(ctx) })
	front := httptest.NewServer(r.relay)
	r.url = front.URL
	r.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		front.CloseClientConnections()
		front.Close()
	})
	r.Cleanup(func() { r.stop() })
	for !r.isReady() {
		<-time.After(10 * time.Millisecond)
	}
}

// isReady asks the relay.
func (r *rig) isReady() bool {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.url+"/readyz", http.NoBody)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.cluster.Access().AdminToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// TestReadersFollow has readers of each kind behind a relay, while the API server and the relay are
// killed and started again. In the end each has what the API server has, and the relay has listed
// no more than its server made necessary.
func TestReadersFollow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	r.stop()
	var front atomic.Pointer[relay.Relay] // as a Service in front of the relay's processes
	entry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { front.Load().ServeHTTP(w, req) }))
	t.Cleanup(entry.Close)
	restart := func() {
		r.start(dir)
		front.Store(r.relay)
	}
	restart()
	client, err := transport.NewClient(transport.Config{Server: entry.URL, BearerToken: r.cluster.Access().AdminToken})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	var copies []*informer.Informer[*listwatch.Raw]
	for range 5 {
		lw, err := listwatch.New(client, configMaps, listwatch.Options[*listwatch.Raw]{})
		if err != nil {
			t.Fatal(err)
		}
		c := informer.New(lw, informer.Options[*listwatch.Raw]{})
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = c.Run(ctx) })
		t.Cleanup(func() { cancel(); running.Wait() })
		copies = append(copies, c)
	}
	theirs := clientGo(t, &rest.Config{Host: entry.URL, BearerToken: r.cluster.Access().AdminToken})
	n := 0
	for round := range 6 {
		for range 20 {
			n++
			r.write(http.MethodPost, "/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":"n%d"}}`, n))
		}
		r.write(http.MethodDelete, fmt.Sprintf("/api/v1/namespaces/default/configmaps/n%d", n-round), "")
		switch round % 3 {
		case 0:
			r.stop()
			restart()
		case 1:
			r.killed.Store(true)
			if err := r.cluster.KillAPIServer(); err != nil {
				t.Fatal(err)
			}
			if err := r.cluster.StartAPIServer(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	lw, err := listwatch.New(r.client, configMaps, listwatch.Options[*listwatch.Raw]{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := source.All(t.Context(), lw, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range copies {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, one := range want.Items {
			if err := c.WaitForVersion(ctx, one.GetResourceVersion()); err != nil {
				t.Fatal(err)
			}
		}
		if have := c.Store().Len(); have != len(want.Items) {
			t.Errorf("a copy has %d objects, want %d", have, len(want.Items))
		}
	}
	for deadline := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) {
		same := len(theirs.List()) == len(want.Items)
		for _, one := range want.Items {
			o, there, err := theirs.GetByKey(one.GetNamespace() + "/" + one.GetName())
			same = same && err == nil && there && o.(*unstructured.Unstructured).GetResourceVersion() == one.GetResourceVersion()
		}
		if same {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the copy of client-go has %d objects, want %d", len(theirs.List()), len(want.Items))
		}
	}
}

// clientGo returns the store of an informer of client-go.
func clientGo(t *testing.T, config *rest.Config) cache.Store {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(configMaps).Informer()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return informer.GetStore()
}
