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

// Look at nothing of an object but its identity.
func ExampleRaw() {
	raw, err := listwatch.ParseRaw([]byte(`{"kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop","resourceVersion":"17"},"data":{"color":"green"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(raw.GetNamespace(), raw.GetName(), raw.GetResourceVersion(), raw.Size())
	// Output:
	// shop settings 17 118
}
