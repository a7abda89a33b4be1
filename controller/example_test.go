package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/transport"
)

// Pod has the fields of a Pod that these examples use; the decoder skips the others.
type Pod struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
}

// Node has only metadata.
type Node struct {
	metav1.ObjectMeta `json:"metadata"`
}

var (
	podResource  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodeResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// A controller that counts the Pods of each Node, in a cluster where a Pod comes and its Node goes.
func Example() {
	server := apitest.New(apitest.Options{})
	defer server.Close()
	listener, err := server.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	do := func(_ string, err error) {
		if err != nil {
			fmt.Println(err)
		}
	}
	do(server.Create("nodes", map[string]any{"metadata": map[string]any{"name": "worker-1"}}))

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	client, err := transport.NewClient(transport.Config{Server: listener.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	nodeList, err := listwatch.New(client, nodeResource, listwatch.Options[*Node]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	podList, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	nodes := informer.New(nodeList, informer.Options[*Node]{})
	pods := informer.New(podList, informer.Options[*Pod]{})
	if err := pods.Store().AddIndexer("node", func(pod *Pod) []string { return []string{pod.Spec.NodeName} }); err != nil {
		fmt.Println(err)
		return
	}
	count := func(_ context.Context, key string) (time.Duration, error) {
		_, exists := nodes.Store().Get(key)
		on, err := pods.Store().ByIndex("node", key)
		if err != nil {
			return 0, err
		}
		fmt.Println("node", key, exists, "pods", len(on))
		switch { // what the cluster does next
		case len(on) == 0:
			do(server.Create("pods", map[string]any{
				"metadata": map[string]any{"namespace": "shop", "name": "web"},
				"spec":     map[string]any{"nodeName": "worker-1"},
			}))
		case exists:
			do(server.Delete("nodes", "", "worker-1"))
		default:
			stop()
		}
		return 0, nil
	}
	fmt.Println(controller.Run(ctx, count, controller.Options{},
		controller.For(nodes),
		controller.Watches(pods, func(pod *Pod) []string { return []string{pod.Spec.NodeName} }),
	))
	// Output:
	// node worker-1 true pods 0
	// node worker-1 true pods 1
	// node worker-1 false pods 1
	// context canceled
}

// A controller that only a new generation brings back, and not its own status writes.
func ExampleFor() {
	var shops *informer.Informer[*metav1.PartialObjectMetadata]
	type Shop = metav1.PartialObjectMetadata
	_ = controller.For(shops, func(was, is *Shop) bool { return was.Generation != is.Generation })
}

func ExampleQueue() {
	q := controller.NewQueue[string](controller.QueueOptions{})
	q.AddInitial("shop/old", "shop/older")
	q.Add("shop/new", "shop/older")
	for q.Stats().Ready > 0 {
		key, err := q.Get(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(key)
		q.Done(key)
	}
	// Output:
	// shop/new
	// shop/older
	// shop/old
}

// A worker without Run. The first key fails once.
func ExampleQueue_Get() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	queue := controller.NewQueue[string](controller.QueueOptions{})
	queue.Add("shop/bakery", "town")
	failed := false
	work := func(key string) error {
		namespace, name, err := object.SplitKey(key) // "shop", "bakery"; the namespace of a Node is ""
		fmt.Printf("%q %q %v\n", namespace, name, err)
		if !failed {
			failed = true
			return errors.New("away")
		}
		if name == "bakery" {
			stop()
		}
		return nil
	}
	one := func() error {
		key, err := queue.Get(ctx) // waits; an error if ctx has ended, or if the queue is closed
		if err != nil {
			return err
		}
		if err := work(key); err != nil {
			queue.Retry(key, 0) // after a delay, which grows with each failure
		} else {
			queue.Forget(key) // the next failure is the first
		}
		queue.Done(key)
		return nil
	}
	for one() == nil {
		continue
	}
	// Output:
	// "shop" "bakery" <nil>
	// "" "town" <nil>
	// "shop" "bakery" <nil>
}

func ExampleQueue_Stats() {
	var ctx context.Context
	queue := controller.NewQueue[string](controller.QueueOptions{BackoffCap: time.Minute}) // for Options.Queue
	s := queue.Stats()
	slog.Info("work queue", "ready", s.Ready, "oldest", s.Oldest, "delayed", s.Delayed, "failing", s.Failing, "held for own writes", s.Held)
	err := queue.Drain(ctx) // finishes what is ready; then Run ends
	_ = err
}
