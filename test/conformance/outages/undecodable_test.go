package outages

import (
	"fmt"
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// Widget is what the client believes a widget to be. The server's definition has no
// schema for the spec and takes anything.
type Widget struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Size int `json:"size"`
	} `json:"spec"`
}

var (
	widgets     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// TestUndecodableObject: somebody stores a size that is a word. The object is set
// aside, in a watch as in a list, the others stay live, and its story ends well: it
// is repaired, and another one is deleted while nobody could read it.
func TestUndecodableObject(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	w := newWorld(t, c, widgets)
	w.define("widgets", "Widget", "Namespaced")
	const good = 100
	for i := range good {
		w.putWidget(fmt.Sprintf("good-%03d", i), 1)
	}
	w.putWidget("repaired", 1)
	w.putWidget("deleted", 1)
	r := follow[*Widget](t, c, c.Access().AdminToken, widgets, reflector.Options{})
	r.converge(w)
	before := r.held()

	w.putWidget("repaired", "large")
	w.putWidget("deleted", "huge")
	w.putWidget("never-good", "none")
	bad := []string{key("deleted"), key("never-good"), key("repaired")}
	r.awaitQuarantine(bad...)

	t.Run("the others stay live", func(t *testing.T) {
		for i := range good {
			name := fmt.Sprintf("good-%03d", i)
			begin := time.Now()
			obj := w.putWidget(name, 2)
			seen := r.await(name, func([]step) bool { return r.held()[key(name)].ResourceVersion == obj.GetResourceVersion() })
			if lag := seen.Sub(begin); lag > 10*time.Second {
				t.Errorf("%s came %v after it was written, want less than 10s", name, lag)
			}
		}
		r.checkBeside(w, before)
	})

	t.Run("in a list, too", func(t *testing.T) {
		must.OK(t, c.KillAPIServer())
		must.OK(t, c.StartAPIServer(t.Context()))
		must.OK(t, r.source.Relist(t.Context()))
		r.awaitQuarantine(bad...)
		r.checkBeside(w, before)
	})

	t.Run("repaired and deleted", func(t *testing.T) {
		w.putWidget("repaired", 3)
		must.OK(t, w.objects().Delete(t.Context(), "deleted", metav1.DeleteOptions{}))
		must.OK(t, w.objects().Delete(t.Context(), "never-good", metav1.DeleteOptions{}))
		r.converge(w)
		r.awaitQuarantine()
		history, _ := r.steps()
		// Its last state could not be read, so what comes with the deletion is an older one.
		all, inferred := deletions(history)
		if len(all) != 1 || all[key("deleted")+" "+before[key("deleted")].UID] != 1 || len(inferred) != 1 || inferred[key("deleted")] != 1 {
			t.Errorf("deletions are %v, inferred %v; want that of the one object that was known, in a final state that was not", all, inferred)
		}
	})
}

// awaitQuarantine waits until these objects, and no others, are set aside.
func (r *replica[T]) awaitQuarantine(keys ...string) {
	r.t.Helper()
	poll(r.t, fmt.Sprintf("%q in quarantine", keys), func() bool {
		all := r.source.Status().Quarantined
		if len(all) != len(keys) {
			return false
		}
		for i, key := range keys {
			if all[i].Meta.Key != key || all[i].Err == nil {
				return false
			}
		}
		return true
	})
}

// checkBeside checks that the copy is what the server holds, but for the objects in
// quarantine, which are as they were when they could last be read.
func (r *replica[T]) checkBeside(w *world, before cluster.State) {
	r.t.Helper()
	want := w.state()
	for _, q := range r.source.Status().Quarantined {
		if last, ok := before[q.Meta.Key]; ok {
			want[q.Meta.Key] = last
		} else {
			delete(want, q.Meta.Key)
		}
	}
	r.await("the server's state beside the quarantine", func([]step) bool { return maps.Equal(r.held(), want) })
}

// define has the server serve a custom resource without a schema.
func (w *world) define(plural, kind, scope string) {
	w.t.Helper()
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	w.create(definitions, map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": plural + ".example.com"},
		"spec": map[string]any{
			"group": "example.com",
			"scope": scope,
			"names": map[string]any{"plural": plural, "kind": kind},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": open},
			}},
		},
	})
	poll(w.t, plural, func() bool {
		_, err := w.client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: plural}).List(w.t.Context(), metav1.ListOptions{})
		return err == nil
	})
}

// putWidget makes a widget, or changes its size.
func (w *world) putWidget(name string, size any) *unstructured.Unstructured {
	w.t.Helper()
	if number, ok := size.(int); ok {
		size = int64(number)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1",
		"kind":       "Widget",
		"metadata":   map[string]any{"namespace": metav1.NamespaceDefault, "name": name},
		"spec":       map[string]any{"size": size},
	}}
	obj, err := w.objects().Apply(w.t.Context(), name, obj, metav1.ApplyOptions{FieldManager: "outages", Force: true})
	must.OK(w.t, err)
	return obj
}
