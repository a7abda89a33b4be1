package asks

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/test/conformance/cluster"
)

// patience bounds every wait for something that must happen. It is only spent when a test
// fails.
const patience = time.Minute

// The users as whom reflectors ask. Neither may get anything.
const (
	lister = "lister" // lists and watches everything
	local  = "local"  // lists and watches in one namespace
)

// space is the namespace of all objects here that have one.
const space = metav1.NamespaceDefault

// world is an API server as those who write to it see it, by client-go.
type world struct {
	t       *testing.T
	cluster *cluster.Cluster
	client  dynamic.Interface
	serial  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.New(t, cluster.Options{APIServerFlags: []string{cluster.Uncached("secrets")}})
	client, err := dynamic.NewForConfig(config(c))
	must(t, err)
	w := &world{t: t, cluster: c, client: client}
	for plural, scope := range map[string]string{"widgets": "Namespaced", "gadgets": "Cluster"} {
		w.define(plural, scope)
	}
	w.letList()
	return w
}

func config(c *cluster.Cluster) *rest.Config {
	return &rest.Config{
		Host:            c.Access().URL,
		BearerToken:     c.Access().AdminToken,
		TLSClientConfig: rest.TLSClientConfig{CAFile: c.Access().CAFile},
		QPS:             -1,
	}
}

// define has the server serve custom resources of a kind that is called as their plural is.
func (w *world) define(plural, scope string) {
	w.t.Helper()
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	w.create(definitions, "", map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": plural + ".example.com"},
		"spec": map[string]any{
			"group": "example.com",
			"scope": scope,
			"names": map[string]any{"plural": plural, "kind": plural},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": open},
			}},
		},
	})
	w.poll(plural, func() error {
		_, err := w.client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: plural}).List(w.t.Context(), metav1.ListOptions{})
		return err
	})
}

// letList gives both users their right, and waits until they have it, and no other.
func (w *world) letList() {
	w.t.Helper()
	rules := []any{map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"list", "watch"}}}
	role := func(kind, user string) map[string]any {
		return map[string]any{"apiVersion": rbac + "/v1", "kind": kind, "metadata": map[string]any{"name": user}, "rules": rules}
	}
	binding := func(kind, user string) map[string]any {
		return map[string]any{
			"apiVersion": rbac + "/v1", "kind": kind + "Binding", "metadata": map[string]any{"name": user},
			"roleRef":  map[string]any{"apiGroup": rbac, "kind": kind, "name": user},
			"subjects": []any{map[string]any{"apiGroup": rbac, "kind": "User", "name": user}},
		}
	}
	w.create(clusterRoles, "", role("ClusterRole", lister))
	w.create(clusterRoleBindings, "", binding("ClusterRole", lister))
	w.create(roles, space, role("Role", local))
	w.create(roleBindings, space, binding("Role", local))
	for _, user := range []string{lister, local} {
		as := rest.CopyConfig(config(w.cluster))
		as.Impersonate.UserName = user
		client, err := dynamic.NewForConfig(as)
		must(w.t, err)
		objects := client.Resource(configMaps).Namespace(space)
		w.poll(user, func() error {
			_, err := objects.List(w.t.Context(), metav1.ListOptions{})
			return err
		})
		if _, err := objects.Get(w.t.Context(), "any", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
			w.t.Fatalf("%s gets a ConfigMap: %v, want 403", user, err)
		}
	}
}

// poll asks until there is no error, for what nobody can be told of.
func (w *world) poll(what string, do func() error) {
	w.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not within %v: %v", what, patience, err)
		}
	}
}

func (w *world) create(resource schema.GroupVersionResource, namespace string, object map[string]any) *unstructured.Unstructured {
	w.t.Helper()
	obj, err := w.client.Resource(resource).Namespace(namespace).Create(w.t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	must(w.t, err)
	return obj
}

// objects are those of one resource that a case writes.
type objects struct {
	*world
	*testCase
}

func (o objects) resource() dynamic.ResourceInterface {
	if o.namespaced {
		return o.client.Resource(o.gvr).Namespace(space)
	}
	return o.client.Resource(o.gvr)
}

// add makes an object that is selected.
func (o objects) add(name string) (version string) {
	o.t.Helper()
	o.serial++
	object := map[string]any{
		"apiVersion": o.gvr.GroupVersion().String(),
		"kind":       o.kind,
		"metadata": map[string]any{
			"name":        name,
			"labels":      map[string]any{"team": "inside"},
			"annotations": map[string]any{"serial": strconv.Itoa(o.serial)},
		},
	}
	maps.Copy(object, o.body)
	obj, err := o.resource().Create(o.t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	must(o.t, err)
	return obj.GetResourceVersion()
}

// change writes to an object, which stays selected.
func (o objects) change(name string) (version string) {
	o.t.Helper()
	return o.write(name, func(obj *unstructured.Unstructured) {
		o.serial++
		obj.SetAnnotations(map[string]string{"serial": strconv.Itoa(o.serial)})
	})
}

func (o objects) write(name string, change func(*unstructured.Unstructured), subresources ...string) (version string) {
	o.t.Helper()
	obj, err := o.resource().Get(o.t.Context(), name, metav1.GetOptions{})
	must(o.t, err)
	change(obj)
	obj, err = o.resource().Update(o.t.Context(), obj, metav1.UpdateOptions{}, subresources...)
	must(o.t, err)
	return obj.GetResourceVersion()
}

func (o objects) remove(name string) {
	o.t.Helper()
	now := int64(0)
	must(o.t, o.resource().Delete(o.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}

// versions is what the server has of the objects that are selected and belong to the case.
func (o objects) versions() map[string]string {
	o.t.Helper()
	list, err := o.resource().List(context.WithoutCancel(o.t.Context()), metav1.ListOptions{LabelSelector: o.labels, FieldSelector: o.fields})
	must(o.t, err)
	versions := map[string]string{}
	for _, obj := range list.Items {
		if o.owns(obj.GetName()) {
			versions[o.key(obj.GetName())] = obj.GetResourceVersion()
		}
	}
	return versions
}

func roundTripper(t *testing.T, c *cluster.Cluster) http.RoundTripper {
	t.Helper()
	client, err := c.Access().HTTPClient()
	must(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client.Transport
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
