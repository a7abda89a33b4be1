package informer_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/transport"
)

// Pod has the fields of a Pod that these examples use; the decoder skips the others.
type Pod struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
		PodIP string `json:"podIP"`
	} `json:"status"`
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// A cluster of one Pod, which is moved on and deleted while we look.
func Example() {
	server := apitest.New(apitest.Options{})
	defer server.Close()
	listener, err := server.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	podIn := func(phase string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"namespace": "default", "name": "web"},
			"status":   map[string]any{"phase": phase},
		}
	}
	do := func(_ string, err error) {
		if err != nil {
			fmt.Println(err)
		}
	}
	do(server.Create("pods", podIn("Pending")))

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	client, err := transport.NewClient(transport.Config{Server: listener.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	pods, err := listwatch.New(client, podResource, listwatch.Options[*Pod]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cache := informer.New(pods, informer.Options[*Pod]{})
	_, err = cache.AddHandler(informer.Handler[*Pod]{
		OnAdd: func(pod *Pod, initial bool) {
			fmt.Println("add", pod.Name, pod.Status.Phase, initial, cache.Store().Len())
			do(server.Update("pods", podIn("Running")))
		},
		OnUpdate: func(old, pod *Pod) {
			fmt.Println("update", pod.Name, old.Status.Phase, "->", pod.Status.Phase)
			do(server.Delete("pods", "default", "web"))
		},
		OnDelete: func(pod *Pod, inferred bool) {
			fmt.Println("delete", pod.Name, pod.Status.Phase, inferred, cache.Store().Len())
			stop()
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cache.Run(ctx))
	// Output:
	// add web Pending true 1
	// update web Pending -> Running
	// delete web Running false 0
	// context canceled
}
