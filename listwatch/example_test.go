package listwatch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/transport"
)

// Node has only the members of a node that this program needs.
type Node struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Unschedulable bool `json:"unschedulable"`
	} `json:"spec"`
}

// List nodes into a struct that the program defines.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1234"},"items":[
			{"metadata":{"name":"n1"},"spec":{}},
			{"metadata":{"name":"n2"},"spec":{"unschedulable":true}}]}`)
	}))
	defer server.Close()

	client, err := transport.NewClient(transport.Config{Server: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	nodes, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, listwatch.Options[*Node]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := source.All(context.Background(), nodes, metav1.ListOptions{Limit: 500})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, node := range list.Items {
		fmt.Println(node.Name, node.Spec.Unschedulable)
	}
	fmt.Println("watch from", list.ResourceVersion)
	// Output:
	// n1 false
	// n2 true
	// watch from 1234
}

// Copy objects of any kind, and look at nothing but their identity.
func ExampleRaw() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1234"},"items":[
			{"metadata":{"name":"settings","namespace":"shop","resourceVersion":"17"},"data":{"color":"green"}}]}`)
	}))
	defer server.Close()

	client, err := transport.NewClient(transport.Config{Server: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	configMaps, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options[*listwatch.Raw]{
		Drop: []string{"metadata.managedFields"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := source.All(context.Background(), configMaps, metav1.ListOptions{Limit: 500})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range list.Items {
		fmt.Println(c.GetNamespace(), c.GetName(), c.GetResourceVersion())
		fmt.Printf("%s\n", c.Bytes())
	}
	// Output:
	// shop settings 17
	// {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","namespace":"shop","resourceVersion":"17"},"data":{"color":"green"}}
}
