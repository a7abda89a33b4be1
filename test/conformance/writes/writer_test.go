package writes

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
)

var (
	configMaps  = object.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
	deployments = object.Type{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment"}
)

// configMap has the fields that are written.
type configMap struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data,omitempty"`
}

func newClient(t *testing.T, c *cluster.Cluster) *transport.Client {
	t.Helper()
	client, err := transport.NewClient(c.Access().Config())
	must.OK(t, err)
	t.Cleanup(client.Close)
	return client
}

// newWriter returns a writer of ConfigMaps.
func newWriter(t *testing.T, c *cluster.Cluster, manager string) *writer.Writer[*configMap] {
	t.Helper()
	w, err := writer.New[*configMap](newClient(t, c), configMaps, writer.Options{FieldManager: manager})
	must.OK(t, err)
	return w
}

// TestWriter makes every kind of write, and the mistakes that a server notices.
func TestWriter(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	ctx, client := t.Context(), newClient(t, c)

	// Two managers of fields.
	a := &configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"one": "1", "two": "2"}}
	mine, theirs := newWriter(t, c, "me"), newWriter(t, c, "them")
	if _, err := mine.Apply(ctx, a); err != nil {
		t.Fatal(err)
	}
	a.Data = map[string]string{"one": "1000"}
	_, err := theirs.Apply(ctx, a)
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "apply configmaps default/a: patch ") {
		t.Errorf("a field of another manager: %v", err)
	}
	forced, err := writer.New[*configMap](client, configMaps, writer.Options{FieldManager: "them", Force: true})
	must.OK(t, err)
	if got, err := forced.Apply(ctx, a); err != nil || got.Data["one"] != "1000" || got.Data["two"] != "2" {
		t.Errorf("by force: %+v, %v", got, err)
	}
	a.Data = map[string]string{}
	got, err := mine.Apply(ctx, a)
	if err != nil || len(got.Data) != 1 {
		t.Errorf("what is applied no more stays: %+v, %v", got, err)
	}

	// A field that the server does not know is not dropped without a word.
	_, err = mine.MergePatch(ctx, "default/a", []byte(`{"date":{"three":"3"}}`))
	if err == nil || !strings.Contains(err.Error(), `unknown field "date"`) {
		t.Errorf("a misspelt field: %v", err)
	}

	// A dry run.
	dry, err := writer.New[*configMap](client, configMaps, writer.Options{DryRun: true})
	must.OK(t, err)
	must.OK(t, dry.Delete(ctx, "default/a", writer.DeleteOptions{}))

	// Conditions.
	if err := mine.Delete(ctx, "default/a", writer.DeleteOptions{UID: "other"}); !apierrors.IsConflict(err) {
		t.Errorf("another UID: %v", err)
	}
	if err := mine.Delete(ctx, "default/a", writer.DeleteOptions{ResourceVersion: "1"}); !apierrors.IsConflict(err) {
		t.Errorf("another version: %v", err)
	}
	must.OK(t, mine.Delete(ctx, "default/a", writer.DeleteOptions{UID: got.UID, ResourceVersion: got.ResourceVersion, Propagation: metav1.DeletePropagationForeground}))

	// Whole objects, and their status.
	whole, err := writer.New[*unstructured.Unstructured](client, deployments, writer.Options{FieldManager: "me"})
	must.OK(t, err)
	labels := map[string]any{"app": "web"}
	made, err := whole.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "default", "name": "web"},
		"spec": map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
			"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
		}},
	}})
	must.OK(t, err)
	changed := made.DeepCopy()
	changed.Object["spec"].(map[string]any)["replicas"] = int64(3)
	updated, err := whole.Update(ctx, changed)
	must.OK(t, err)
	if _, err = whole.Update(ctx, changed); !apierrors.IsConflict(err) {
		t.Errorf("an update of an older state: %v", err)
	}
	updated.Object["status"] = map[string]any{"replicas": int64(2)}
	updated, err = whole.UpdateStatus(ctx, updated)
	must.OK(t, err)
	status, err := whole.MergePatchStatus(ctx, "default/web", []byte(`{"status":{"replicas":3}}`))
	must.OK(t, err)
	applied, err := whole.ApplyStatus(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "default", "name": "web"},
		"status": map[string]any{"updatedReplicas": int64(1)},
	}})
	must.OK(t, err)
	versions := []string{made.GetResourceVersion(), updated.GetResourceVersion(), status.GetResourceVersion(), applied.GetResourceVersion()}
	for i := range versions[1:] {
		if !object.Older(versions[i], versions[i+1]) {
			t.Errorf("versions of the answers: %v", versions)
		}
	}
	if n, _, _ := unstructured.NestedInt64(applied.Object, "spec", "replicas"); n != 3 {
		t.Errorf("spec.replicas is %d after writes of the status", n)
	}
	if err := whole.Delete(ctx, "default/none", writer.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("nothing to delete: %v", err)
	}
}
