package outages

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/test/conformance/cluster"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// world is one resource of a server as those who write it see it, by client-go.
type world struct {
	t        *testing.T
	cluster  *cluster.Cluster
	client   dynamic.Interface
	resource schema.GroupVersionResource
	serial   int
}

func newWorld(t *testing.T, c *cluster.Cluster, resource schema.GroupVersionResource) *world {
	t.Helper()
	w := &world{t: t, cluster: c, resource: resource}
	w.client = w.clientOf("")
	return w
}

// clientOf returns a client of a user, or of the administrator.
func (w *world) clientOf(user string) dynamic.Interface {
	w.t.Helper()
	config := w.cluster.Access().ClientGo()
	config.Impersonate.UserName = user
	client, err := dynamic.NewForConfig(config)
	must.OK(w.t, err)
	return client
}

// of returns the same world for a subtest.
func (w *world) of(t *testing.T) *world {
	here := *w
	here.t = t
	return &here
}

// create makes one object of any resource: in the namespace default, unless it has none.
func (w *world) create(resource schema.GroupVersionResource, object map[string]any) {
	w.t.Helper()
	of := dynamic.ResourceInterface(w.client.Resource(resource))
	if resource == rolesOf("Role") || resource == rolesOf("RoleBinding") {
		of = w.client.Resource(resource).Namespace(metav1.NamespaceDefault)
	}
	_, err := of.Create(w.t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	must.OK(w.t, err)
}

func (w *world) objects() dynamic.ResourceInterface {
	return w.client.Resource(w.resource).Namespace(metav1.NamespaceDefault)
}

// object is a ConfigMap that is not like the one before.
func (w *world) object(name string) *unstructured.Unstructured {
	w.serial++
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"namespace": metav1.NamespaceDefault, "name": name},
		"data":       map[string]any{"serial": fmt.Sprint(w.serial)},
	}}
}

// do writes several objects at once: each is a verb and a name.
func (w *world) do(verb string, names ...string) {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	var group sync.WaitGroup
	limit := make(chan struct{}, 16)
	for _, name := range names {
		obj := w.object(name)
		limit <- struct{}{}
		group.Go(func() {
			defer func() { <-limit }()
			var err error
			switch verb {
			case "create":
				_, err = w.objects().Create(ctx, obj, metav1.CreateOptions{})
			case "update":
				_, err = w.objects().Update(ctx, obj, metav1.UpdateOptions{})
			case "delete":
				err = w.objects().Delete(ctx, name, metav1.DeleteOptions{})
			}
			if err != nil {
				w.t.Errorf("%s %s: %v", verb, name, err)
			}
		})
	}
	group.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// poll asks until the answer is as it should be, for what nobody can be told of.
func poll(t *testing.T, what string, answers func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !answers(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// names are prefix-000 to prefix-n-1.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return all
}

// key is that of an object in the namespace default.
func key(name string) string { return metav1.NamespaceDefault + "/" + name }

// state is what the server holds now.
func (w *world) state() cluster.State {
	w.t.Helper()
	list, err := w.client.Resource(w.resource).List(w.t.Context(), metav1.ListOptions{})
	must.OK(w.t, err)
	state := cluster.State{}
	for i := range list.Items {
		obj := &list.Items[i]
		state[object.Key(obj)] = cluster.Version{UID: string(obj.GetUID()), ResourceVersion: obj.GetResourceVersion()}
	}
	return state
}

// version is where the server is now.
func (w *world) version() string {
	w.t.Helper()
	list, err := w.client.Resource(w.resource).List(w.t.Context(), metav1.ListOptions{Limit: 1})
	must.OK(w.t, err)
	return list.GetResourceVersion()
}
