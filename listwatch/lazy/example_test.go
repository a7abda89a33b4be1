package lazy_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/lazy"
	"github.com/relist-go/relist/store"
	"github.com/relist-go/relist/transport"
)

type Pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		NodeName string `json:"nodeName"`
		// and all the others
	} `json:"spec"`
}

// An index on a field that was named decodes nothing.
func ExampleNew() {
	client, err := transport.NewClient(transport.Config{Server: "https://10.96.0.1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	nodeName := lazy.At[string]("spec.nodeName")
	encoding, err := lazy.New[*Pod](lazy.Options{Fields: []lazy.Named{nodeName}})
	if err != nil {
		fmt.Println(err)
		return
	}
	pods, err := listwatch.New(client, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, listwatch.Options[*lazy.Object[*Pod]]{
		Encoding: encoding,
		Drop:     []string{"metadata.managedFields"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	indexers := store.Indexers[*lazy.Object[*Pod]]{
		"node": func(pod *lazy.Object[*Pod]) []string { return []string{nodeName.Of(pod)} },
	}
	fmt.Println(pods, len(indexers)) // an informer takes both

	_, err = lazy.New[*Pod](lazy.Options{Fields: []lazy.Named{lazy.At[string]("spec.node")}})
	fmt.Println(err != nil)
	// Output:
	// pods 1
	// true
}
