package shards

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
)

// patience bounds every wait for something that must happen. It is only spent when the test fails.
const patience = 5 * time.Minute

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

type metadata = metav1.PartialObjectMetadata

// replica is one of the programs that split the ConfigMaps between them.
type replica = informer.Informer[*metadata]

// world is a server, those who write to it, and the replicas.
type world struct {
	*testing.T
	cluster  *cluster.Cluster
	objects  dynamic.ResourceInterface
	changed  chan struct{} // holds one: a store has changed
	replicas []*replica
}

func newWorld(t *testing.T, gate bool) *world {
	t.Helper()
	c := cluster.New(t, cluster.Options{APIServerFlags: []string{fmt.Sprintf("--feature-gates=ShardedListAndWatch=%v", gate)}})
	client, err := dynamic.NewForConfig(c.Access().ClientGo())
	must.OK(t, err)
	return &world{T: t, cluster: c, objects: client.Resource(configMaps).Namespace("default"), changed: make(chan struct{}, 1)}
}

func (w *world) create(from, to int) {
	w.Helper()
	for i := from; i < to; i++ {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("c%d", i), "labels": map[string]any{"test": "shards"}},
		}}
		if _, err := w.objects.Create(w.Context(), obj, metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) resource(selector string, encoding listwatch.Encoding) *listwatch.Client[*metadata] {
	w.Helper()
	client, err := transport.NewClient(w.cluster.Access().Config())
	if err != nil {
		w.Fatal(err)
	}
	resource, err := listwatch.New(client, configMaps, listwatch.Options[*metadata]{
		LabelSelector: "test=shards", ShardSelector: selector, Encoding: encoding,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(client.Close)
	return resource
}

func (w *world) start(selector string, encoding listwatch.Encoding, initial reflector.InitialList) {
	w.Helper()
	r := informer.New(w.resource(selector, encoding), informer.Options[*metadata]{
		Logger: slog.New(slog.DiscardHandler), Reflector: reflector.Options{Initial: initial, PageSize: 7},
	})
	_, err := r.Observe("test", func(informer.Change[*metadata]) {
		select {
		case w.changed <- struct{}{}:
		default: // somebody will look
		}
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	w.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			w.Error(err)
		}
	})
	w.replicas = append(w.replicas, r)
}

// split waits until the replicas have each of so many objects, and fails the test if two have the
// same one.
func (w *world) split(objects int) {
	w.Helper()
	timeout := time.After(patience)
	for {
		holders := map[string]int{}
		for _, r := range w.replicas {
			for _, key := range r.Store().Keys() {
				holders[key]++
			}
		}
		for key, n := range holders {
			if n > 1 {
				w.Fatalf("%d replicas have %s", n, key)
			}
		}
		if len(holders) == objects {
			return
		}
		select {
		case <-w.changed:
		case <-timeout:
			w.Fatalf("%d objects in all replicas together, want %d", len(holders), objects)
		}
	}
}

func shard(t *testing.T, index, count int) string {
	t.Helper()
	selector, err := listwatch.Shard(index, count)
	must.OK(t, err)
	return selector
}

// Three replicas have every object once: by list, by initial events, by watch, in JSON and
// protobuf.
func TestThreeReplicas(t *testing.T) {
	w := newWorld(t, true)
	w.create(0, 60)
	w.start(shard(t, 0, 3), listwatch.JSON, reflector.FromCache)
	w.start(shard(t, 1, 3), listwatch.Protobuf, reflector.Consistent)
	w.start(shard(t, 2, 3), listwatch.JSON, reflector.Streaming)
	w.split(60)
	for i, r := range w.replicas {
		if r.Store().Len() == 0 {
			t.Errorf("replica %d has nothing", i)
		}
	}
	w.create(60, 90)
	w.split(90)
	for i := range 10 {
		must.OK(t, w.objects.Delete(t.Context(), fmt.Sprintf("c%d", 8*i), metav1.DeleteOptions{}))
	}
	w.split(80)
}

// Without the feature gate, the server sends everything, and says nothing. That is an error of each
// list and each watch.
func TestWithoutTheGate(t *testing.T) {
	w := newWorld(t, false)
	w.create(0, 30)
	resource := w.resource(shard(t, 0, 3), listwatch.JSON)
	if _, err := resource.List(t.Context(), metav1.ListOptions{}); !errors.Is(err, listwatch.ErrShardIgnored) {
		t.Errorf("list: error %v, want %v", err, listwatch.ErrShardIgnored)
	}
	initial := true
	events, err := resource.Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: &initial, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
	})
	must.OK(t, err)
	defer events.Close()
	for err == nil {
		var event source.Event[*metadata]
		if event, err = events.Next(); event.InitialEventsEnd {
			break
		}
	}
	if !errors.Is(err, listwatch.ErrShardIgnored) {
		t.Errorf("watch: error %v, want %v", err, listwatch.ErrShardIgnored)
	}
}
