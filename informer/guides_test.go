package informer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/informer/checkpoint"
	"github.com/relist-go/relist/informer/informertest"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/listwatch/lazy/zstd"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/discovery"
)

// The examples in this file are most of the code of docs/guides; TestGuides compares.

func Example_connect() {
	client, err := transport.FromKubeconfig(transport.KubeconfigOptions{})
	if err != nil {
		return
	}
	defer client.Close()
	_ = client
}

func Example_configFirst() {
	_ = func() error {
		config, err := transport.InCluster() // of a Pod
		if err != nil {
			config, err = transport.LoadKubeconfig(transport.KubeconfigOptions{Context: "shop"})
		}
		if err != nil {
			return err
		}
		config.MaxConcurrentGets = 4
		client, err := transport.NewClient(config)
		_ = client
		return err
	}
}

func Example_configByHand() {
	config := transport.Config{
		Server:         "https://kube.example.com:6443",
		TLS:            transport.TLSConfig{CAFile: "/etc/shop/ca.pem"},
		Exec:           &transport.ExecConfig{Command: "cloud-token", Args: []string{"--cluster", "shop"}},
		ProxyURL:       "http://proxy.example.com:3128",
		WatchTransport: transport.WatchWebSocket, // because the proxy buffers answers over HTTP
		OnProblem:      func(err error) { slog.Warn(err.Error()) },
	}
	_ = config
}

func Example_roundTripper() {
	var (
		ctx    context.Context
		client *transport.Client
	)
	web := &http.Client{Transport: client.RoundTripper()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/namespaces/shop/pods/web-0/log", nil)
	if err != nil {
		return
	}
	resp, err := web.Do(req)
	if err == nil {
		resp.Body.Close()
	}
}

func Example_discovery() {
	var (
		ctx    context.Context
		client *transport.Client
	)
	found, err := discovery.Resolve(ctx, client, "deploy") // or deployments.v1.apps
	if err != nil {
		return // says which names look like it
	}
	objects, err := listwatch.New(client, found.GroupVersionResource, listwatch.Options[*unstructured.Unstructured]{})
	_, _ = objects, err
}

func Example_discoveryList() {
	var (
		ctx    context.Context
		client *transport.Client
		group  *informer.Group
	)
	addAll := func() error {
		all, err := discovery.List(ctx, client)
		var missing *discovery.MissingError // a group does not answer; the others are in all
		if err != nil && !errors.As(err, &missing) {
			return err
		}
		seen := map[schema.GroupResource]bool{}
		for _, r := range all {
			if seen[r.GroupResource()] || !r.Can("list") || !r.Can("watch") {
				continue
			}
			seen[r.GroupResource()] = true
			objects, err := listwatch.New(client, r.GroupVersionResource, listwatch.Options[*metav1.PartialObjectMetadata]{})
			if err != nil {
				return err
			}
			if err := group.Add(r.GroupResource().String(), informer.New(objects, informer.Options[*metav1.PartialObjectMetadata]{})); err != nil {
				return err
			}
		}
		return nil
	}
	_ = addAll
}

func Example_protobuf() {
	var client *transport.Client
	pods, err := listwatch.New(client, podResource, listwatch.Options[*metav1.PartialObjectMetadata]{
		Encoding: listwatch.Protobuf,
	})
	_, _ = pods, err
}

func Example_each() {
	var (
		ctx   context.Context
		pods  *listwatch.Client[*listwatch.Raw]
		empty func() error
		save  func([]*listwatch.Raw) error
	)
	_ = func() error {
		list, err := source.Each(ctx, pods, metav1.ListOptions{Limit: 500}, func(part source.Part[*listwatch.Raw]) error {
			if part.Again {
				return empty() // a continue token has expired, and the list begins again
			}
			return save(part.Items)
		})
		if err != nil {
			return err // the list is not whole
		}
		watch, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		_ = watch
		return err
	}
}

func Example_selectors() {
	var client *transport.Client
	pods, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{
		Namespace:     "shop",
		LabelSelector: "app=web,tier!=db",
		FieldSelector: "spec.nodeName=" + os.Getenv("NODE_NAME"),
	})
	_, _ = pods, err
}

func Example_shard() {
	var client *transport.Client
	var replica, replicas int
	open := func() error {
		shard, err := listwatch.Shard(replica, replicas) // 0 of 3, 1 of 3, 2 of 3
		if err != nil {
			return err
		}
		pods, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{ShardSelector: shard})
		_ = pods
		return err
	}
	_ = open
}

func Example_transform() {
	opts := listwatch.Options[*Pod]{
		Transform: func(pod *Pod) (*Pod, error) {
			pod.ManagedFields = nil // large, and of no use here
			delete(pod.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
			return pod, nil
		},
	}
	_ = opts
}

func Example_drop() {
	opts := listwatch.Options[*unstructured.Unstructured]{
		Drop: []string{"metadata.managedFields", "status.images", "spec.containers.env"}, // of every container
	}
	_ = opts
}

func Example_indexers() {
	var pods source.ListWatcher[*Pod]
	cache := informer.New(pods, informer.Options[*Pod]{
		Indexers: store.Indexers[*Pod]{
			"node": func(pod *Pod) []string { return []string{pod.Spec.NodeName} },
		},
	})
	onNode, err := cache.Store().ByIndex("node", "worker-1")
	_, _ = onNode, err
}

func Example_moreOfIndexes() {
	var cache *informer.Informer[*Pod]
	phaseOf := func(pod *Pod) []string { return []string{pod.Status.Phase} }
	_ = func() {
		keys, err := cache.Store().IndexKeys("node", "worker-1") // of these Pods
		nodes, err := cache.Store().IndexValues("node")          // those that have Pods
		err = cache.Store().AddIndexer("phase", phaseOf)         // also while the informer runs
		_, _, _ = keys, nodes, err
	}
}

func Example_ownerIndex() {
	var pods source.ListWatcher[*Pod]
	var key string
	cache := informer.New(pods, informer.Options[*Pod]{
		Indexers: store.Indexers[*Pod]{
			"owner": controller.OwnerKeys[*Pod](object.Type{Group: "apps", Version: "v1", Resource: "replicasets", Kind: "ReplicaSet"}),
		},
	})
	owned := func() ([]*Pod, error) {
		pods, err := cache.Store().ByIndex("owner", key)
		return pods, err
	}
	_ = owned
}

func Example_select() {
	var cache *informer.Informer[*Pod]
	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	pods := store.Select(cache.Store().In("shop"), web)
	_ = pods
}

func Example_snapshot() {
	var cache *informer.Informer[*Pod]
	perNode := func() map[string]int {
		count := map[string]int{}
		for _, pod := range cache.Store().Snapshot().All() {
			count[pod.Spec.NodeName]++
		}
		return count
	}
	_ = perNode
}

func Example_tombstones() {
	release := func(string) {}
	handler := informer.Handler[*Pod]{
		Name: "addresses",
		OnDelete: func(pod *Pod, inferred bool) {
			release(pod.Status.PodIP)
			if inferred {
				slog.Info("pod was deleted while nobody watched", "pod", object.Key(pod), "lastSeen", pod.ResourceVersion)
			}
		},
	}
	_ = handler
}

func Example_queue() {
	var cache *informer.Informer[*Pod]
	reconcile := func(string, *Pod, bool) {}
	look := func(key string) {
		pod, exists := cache.Store().Get(key)
		reconcile(key, pod, exists)
	}
	handler := informer.Handler[*Pod]{
		OnAdd:    func(pod *Pod, _ bool) { look(object.Key(pod)) },
		OnUpdate: func(_, pod *Pod) { look(object.Key(pod)) },
		OnDelete: func(pod *Pod, _ bool) { look(object.Key(pod)) },
		Resync:   10 * time.Minute, // to repair what somebody else has changed outside the cluster
	}
	_ = handler
}

func Example_filter() {
	handler := informer.Handler[*Pod]{
		Filter: func(pod *Pod) bool { return pod.Status.Phase == "Running" },
	}
	_ = handler
}

func Example_waitUntil() {
	var ctx context.Context
	var cache *informer.Informer[*Pod]
	err := cache.WaitUntil(ctx, "shop/web-0", func(pod *Pod, exists bool) bool {
		return exists && pod.Status.Phase == "Running"
	})
	_ = err
}

func Example_synced() {
	var ctx context.Context
	var cache *informer.Informer[*Pod]
	serve := func() {}
	var handler informer.Handler[*Pod]
	registration, err := cache.AddHandler(handler)
	if err != nil {
		return
	}
	go func() {
		select {
		case <-registration.Synced(): // and cache.Synced() for the store
			serve()
		case <-ctx.Done():
		}
	}()
}

func Example_remove() {
	var registration *informer.Registration
	_ = func(ctx context.Context) error {
		err := registration.Remove(ctx) // nil: the last callback has returned
		return err
	}
	_ = func() {
		registration.RemoveAsync()
		slog.Info("handler is removed", "changes that waited", registration.Pending())
		<-registration.Done() // elsewhere: the last callback has returned
	}
}

func Example_observe() {
	var moves counter
	_ = func(cache *informer.Informer[*Pod]) error {
		_, err := cache.Observe("moves", func(c informer.Change[*Pod]) {
			if c.Existed && c.Exists && c.Old.Spec.NodeName != c.New.Spec.NodeName {
				moves.Inc()
			}
		})
		return err
	}
}

func Example_onSynced() {
	show := func(*Pod) {}
	var first []*Pod // needs no lock, because the callbacks run on one goroutine
	handler := informer.Handler[*Pod]{
		OnAdd: func(pod *Pod, initial bool) {
			if initial {
				first = append(first, pod)
			} else {
				show(pod)
			}
		},
		OnSynced: func() {
			slices.SortFunc(first, func(a, b *Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
			for _, pod := range first {
				show(pod)
			}
		},
	}
	_ = handler
}

func Example_waitForSync() {
	var cache *informer.Informer[*Pod]
	ready := func(ctx context.Context) error {
		if err := cache.WaitForSync(ctx); err != nil {
			return err // not synced: context deadline exceeded: the next request is sent in 5.6s; requests have failed for 1m0s, …
		}
		return nil
	}
	_ = ready
}

func Example_waitFor() {
	var ctx context.Context
	var cache *informer.Informer[*Pod]
	var write func() (*Pod, error)
	read := func() (*Pod, error) {
		written, err := write()
		if err != nil {
			return nil, err
		}
		if err := cache.WaitForVersion(ctx, written.ResourceVersion); err != nil {
			return nil, err
		}
		pod, _ := cache.Store().Get(object.Key(written)) // as it was written, or newer; nil if it has gone since
		return pod, nil
	}
	_ = read
}

func Example_checkpoint() {
	_ = func(ctx context.Context, group *informer.Group, mux *http.ServeMux, pods source.ListWatcher[*Pod]) error {
		cache := informer.New(pods, informer.Options[*Pod]{
			Checkpoint: checkpoint.File[*Pod]("/var/cache/shop/pods", checkpoint.Options{Cluster: "shop-europe"}), // a name that you choose
		})
		_ = func() {
			<-cache.Loaded() // the store has the saved objects, however old, or no version if there was no copy
			<-cache.Synced() // the server has resumed the watch, and has the newest of these objects; or a list has come
		}
		var ready atomic.Bool
		go func() {
			select {
			case <-cache.Loaded():
			case <-ctx.Done():
				return
			}
			noCopy := cache.Store().ResourceVersion() == ""
			ready.Store(!noCopy || cache.WaitForSync(ctx) == nil)
		}()
		mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
			if !ready.Load() {
				http.Error(w, "no objects yet", http.StatusServiceUnavailable)
			}
		})
		mux.Handle("GET /livez", group.Handler())
		return cache.Run(ctx)
	}
}

func Example_status() {
	var cache *informer.Informer[*Pod]
	status := cache.Status()
	if since, err := status.Failing(); err != nil {
		slog.Warn("the cache cannot reach the server", "since", since, "error", err)
	}
	if status.Staleness(time.Now()) > 5*time.Minute {
		slog.Warn("the cache is stale", "state", status.State)
	}
}

func Example_stats() {
	var cache *informer.Informer[*Pod]
	for _, handler := range cache.Stats().Handlers {
		slog.Info("handler", "name", handler.Name, "pending", handler.Pending)
	}
}

func Example_mutations() {
	_ = func(t *testing.T, pods source.ListWatcher[*Pod]) {
		cache := informer.New(pods, informer.Options[*Pod]{})
		informertest.DetectMutations(t, cache) // before Run
	}
}

func Example_logger() {
	var pods source.ListWatcher[*Pod]
	cache := informer.New(pods, informer.Options[*Pod]{Logger: slog.New(slog.NewJSONHandler(os.Stderr, nil))}) // slog.Default() if nil
	_ = cache
}

func Example_trace() {
	var lists, backoffs, problems counter
	opts := informer.Options[*Pod]{
		Reflector: reflector.Options{Trace: &reflector.Trace{
			ListDone: func(reflector.ListDone) { lists.Inc() },
			Backoff:  func(reflector.Backoff) { backoffs.Inc() },
			Problem:  func(reflector.Problem) { problems.Inc() },
		}},
	}
	_ = opts
}

// counter stands for the counter of a metrics library.
type counter struct{ atomic.Int64 }

func (c *counter) Inc() { c.Add(1) }

func Example_logTrace() {
	metrics := &reflector.Trace{}
	opts := reflector.Options{Trace: reflector.JoinTraces(metrics, reflector.LogTrace(slog.Default()))}
	_ = opts
}

func Example_stop() {
	var cache *informer.Informer[*Pod]
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := cache.Run(ctx)
	stop()
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func Example_lazyObjects() {
	var client *transport.Client
	_ = func() error {
		nodeName := lazy.At[string]("spec.nodeName")
		encoding, err := lazy.New[*Pod](lazy.Options{Encoding: listwatch.JSON, Fields: []lazy.Named{nodeName}})
		if err != nil {
			return err // Pod has no such field, or it is not a string
		}
		pods, err := listwatch.New(client, podResource, listwatch.Options[*lazy.Object[*Pod]]{
			Encoding: encoding,
			Drop:     []string{"metadata.managedFields"},
		})
		_ = pods
		return err
	}
	var nodeName lazy.Field[string]
	_ = func(pod *lazy.Object[*Pod]) {
		node := nodeName.Of(pod)                                         // a named field
		started, err := lazy.Path[*metav1.Time](pod, "status.startTime") // any other
		whole, err := pod.Get()                                          // a *Pod
		_, _, _, _ = node, started, whole, err
	}
}

func Example_memory() {
	var client *transport.Client
	pods, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{
		Encoding:   listwatch.JSON, // Protobuf costs less CPU, for built-in types
		Drop:       []string{"metadata.managedFields"},
		ShareParts: true, // no code writes to an object of the cache
	})
	_, _ = pods, err
	_ = func(nodeName lazy.Named) {
		encoding, err := lazy.New[*Pod](lazy.Options{Fields: []lazy.Named{nodeName}, Unchecked: true, Packer: zstd.New()})
		_, _ = encoding, err
	}
}

func Example_stopAndDrain() {
	var cache *informer.Informer[*Pod]
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := cache.Stop(ctx)
	_ = err
}

// Every block of Go in the guides is part of a file that is compiled and tested.
func TestGuides(t *testing.T) {
	pages, err := filepath.Glob("../docs/guides/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d guides, %v", len(pages), err)
	}
	var code string
	for _, file := range []string{
		"../examples/operator/main.go", "../examples/operator/main_test.go",
		"example_test.go", "guides_test.go",
		"../examples/quickstart/main.go", "../examples/slim/pod.go", "../examples/tested/follow_test.go",
		"../examples/controller/main.go", "../examples/namespaces/main.go", "../controller/example_test.go", "../controller/writer/example_test.go", "../controller/events/example_test.go",
		"../prometheus/example_test.go", "../durable/example_test.go", "../listwatch/source/example_test.go",
	} {
		code += flush(read(t, file))
	}
	for _, page := range pages {
		for rest := read(t, page); ; {
			_, block, found := strings.Cut(rest, "```go\n")
			if !found {
				break
			}
			block, rest, _ = strings.Cut(block, "```")
			if !strings.Contains(code, flush(block)) {
				t.Errorf("this is in %s and in no example:\n%s", page, block)
			}
		}
	}
}

// flush removes indentation.
func flush(code string) string {
	var out strings.Builder
	for line := range strings.Lines(code) {
		out.WriteString(strings.TrimLeft(line, "\t"))
	}
	return out.String()
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func Example_verify() {
	var pods *listwatch.Client[*Pod]
	_ = func() error {
		metadata, err := pods.Metadata() // pods is a listwatch.Client
		if err != nil {
			return err
		}
		cache := informer.New(pods, informer.Options[*Pod]{Reflector: reflector.Options{
			Verify: reflector.VerifyOptions{Interval: time.Hour, Metadata: metadata},
		}})
		return cache.Run(context.Background())
	}
}

func Example_probes() {
	group := informer.NewGroup()
	server := &http.Server{Addr: ":8080", Handler: group.Handler()} // of an informer.Group
	_ = server
}

func Example_group() {
	var pods, services *informer.Informer[*Pod]
	_ = func(ctx context.Context) error {
		group := informer.NewGroup()
		err := errors.Join(group.Add("pods", pods), group.Add("services", services))
		if err != nil {
			return err
		}
		return group.Run(ctx)
	}
	_ = func(ctx context.Context, group *informer.Group) error {
		err := group.WaitForSync(ctx)     // names the informers that are late, and what is in the way of each
		err = group.Stop(ctx, "services") // ends one, and waits for its end
		return err
	}
}
