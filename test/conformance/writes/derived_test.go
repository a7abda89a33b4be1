package writes

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/test/conformance/cluster"
)

type (
	// service lacks targetPort, which the server sets to port if it is absent.
	service struct {
		metav1.ObjectMeta `json:"metadata"`

		Spec struct {
			Ports []servicePort `json:"ports"`
		} `json:"spec"`
	}
	servicePort struct {
		Port int `json:"port"`
	}
)

// TestDerivedDefaults changes fields from which the server has set others, which the program's
// struct lacks or never applies.
func TestDerivedDefaults(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newClient(t, cluster.New(t, cluster.Options{}))
	services := object.Type{Version: "v1", Resource: "services", Kind: "Service"}
	mine, err := writer.New[*service](client, services, writer.Options{FieldManager: "me"})
	must.OK(t, err)
	whole, err := writer.New[*unstructured.Unstructured](client, services, writer.Options{FieldManager: "me"})
	must.OK(t, err)
	want := func(name string, port, target int64) {
		t.Helper()
		got, err := whole.MergePatch(ctx, "default/"+name, []byte(`{}`))
		must.OK(t, err)
		ports, _, err := unstructured.NestedSlice(got.Object, "spec", "ports")
		must.OK(t, err)
		if p := ports[0].(map[string]any); len(ports) != 1 || p["port"] != port || p["targetPort"] != target {
			t.Errorf("Service %s has the ports %v, want %d to %d", name, ports, port, target)
		}
	}
	open := func(port int) func(*service) {
		return func(s *service) { s.Spec.Ports = []servicePort{{port}} }
	}
	create := func(name string) *service {
		t.Helper()
		made, err := mine.CreateFrom(ctx, metav1.ObjectMeta{Namespace: "default", Name: name}, open(80))
		must.OK(t, err)
		want(name, 80, 80)
		return made
	}
	apply := func(name string, port int) error {
		s := &service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		open(port)(s)
		_, err := mine.Apply(ctx, s)
		return err
	}

	// Modify keeps what the struct lacks.
	_, err = mine.Modify(ctx, create("modified"), open(81))
	must.OK(t, err)
	want("modified", 81, 80)

	// A type that has all fields makes a new item, in which the server sets the default again.
	create("declared")
	have, err := whole.MergePatch(ctx, "default/declared", []byte(`{}`))
	must.OK(t, err)
	_, err = whole.Modify(ctx, have, func(s *unstructured.Unstructured) {
		s.Object["spec"].(map[string]any)["ports"] = []any{map[string]any{"port": int64(81)}}
	})
	must.OK(t, err)
	want("declared", 81, 81)

	// Apply removes the item, whose key is its port and protocol, and adds another one.
	must.OK(t, apply("applied", 80))
	want("applied", 80, 80)
	must.OK(t, apply("applied", 81))
	want("applied", 81, 81)

	// What was made by other writes belongs to another manager of the same name, and stays.
	create("mixed")
	if err := apply("mixed", 81); err == nil || !strings.Contains(err.Error(), "spec.ports[1].name: Required") {
		t.Errorf("applied to a Service that was created: %v", err)
	}

	// Outside of such lists, Apply keeps a default, too.
	web, err := writer.New[*unstructured.Unstructured](client, deployments, writer.Options{FieldManager: "me"})
	must.OK(t, err)
	deploy := func(strategy string) error {
		labels := map[string]any{"app": "web"}
		_, err := web.Apply(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "default", "name": "web"},
			"spec": map[string]any{
				"strategy": map[string]any{"type": strategy}, "selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{
					"metadata": map[string]any{"labels": labels},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
				},
			},
		}})
		return err
	}
	must.OK(t, deploy("RollingUpdate"))
	if err := deploy("Recreate"); err == nil || !strings.Contains(err.Error(), "spec.strategy.rollingUpdate: Forbidden") {
		t.Errorf("another strategy: %v", err)
	}
}
