package store_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/relist-go/relist/store"
)

// Pod is as much of a Pod as this program needs.
type Pod struct {
	metav1.ObjectMeta
	Node string
}

func Example() {
	pods := store.New(store.Options[*Pod]{Indexers: store.Indexers[*Pod]{
		"node": func(p *Pod) []string { return []string{p.Node} },
	}})
	pod := func(name, version, node string) *Pod {
		return &Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version}, Node: node}
	}
	if err := pods.Replace([]*Pod{pod("web-1", "7", "worker-1"), pod("web-2", "9", "worker-2")}, "10"); err != nil {
		fmt.Println(err)
	}
	before := pods.Snapshot()
	if err := pods.Update(pod("web-1", "11", "worker-2")); err != nil {
		fmt.Println(err)
	}
	moved, err := pods.ByIndex("node", "worker-2")
	fmt.Println(len(moved), err, pods.ResourceVersion())
	for key, p := range before.All() {
		fmt.Println(key, p.Node)
	}
	// Output:
	// 2 <nil> 11
	// shop/web-1 worker-1
	// shop/web-2 worker-2
}

// The lists that a controller asks for: of a namespace, by labels, by what an index has.
func Example_lists() {
	pods := store.New(store.Options[*Pod]{Indexers: store.Indexers[*Pod]{
		"node": func(p *Pod) []string { return []string{p.Node} },
	}})
	for _, p := range []*Pod{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"app": "web"}}, Node: "worker-1"},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", Labels: map[string]string{"app": "db"}}, Node: "worker-2"},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "blog", Name: "web", Labels: map[string]string{"app": "web"}}, Node: "worker-2"},
	} {
		if err := pods.Add(p); err != nil {
			fmt.Println(err)
		}
	}
	for _, p := range store.Select(pods.In("shop"), labels.SelectorFromSet(labels.Set{"app": "web"})) {
		fmt.Println(p.Namespace, p.Name)
	}
	nodes, err := pods.IndexValues("node")
	fmt.Println(nodes, err)
	keys, err := pods.IndexKeys("node", "worker-2")
	fmt.Println(keys, err)
	// Output:
	// shop web
	// [worker-1 worker-2] <nil>
	// [blog/web shop/db] <nil>
}
