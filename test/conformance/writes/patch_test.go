package writes

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist"
	"github.com/relist-go/relist/controller"
	"github.com/relist-go/relist/controller/writer"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// TestPatches makes and changes objects by the difference between two states.
func TestPatches(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	ctx, client := t.Context(), newClient(t, c)
	children, err := relist.New(client, configMaps, relist.Options[*configMap]{Writer: writer.Options{FieldManager: "me"}})
	must.OK(t, err)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- children.Run(running) }()
	defer func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	}()
	must.OK(t, children.WaitForSync(ctx))

	owner, err := children.CreateFrom(ctx, metav1.ObjectMeta{Namespace: "default", Name: "owner"}, func(*configMap) {})
	must.OK(t, err)
	must.OK(t, children.WaitForVersion(ctx, owner.ResourceVersion))
	meta := controller.OwnedMeta(owner, configMaps, "child")
	ensure := func(data map[string]string) (*configMap, error) {
		got, err := children.CreateOrModify(ctx, meta, func(s *configMap) { s.Data = data })
		if err == nil {
			must.OK(t, children.WaitForVersion(ctx, got.ResourceVersion))
			if !maps.Equal(got.Data, data) {
				t.Errorf("the answer has %v, want %v", got.Data, data)
			}
		}
		return got, err
	}
	made, err := ensure(map[string]string{"one": "1"})
	must.OK(t, err)
	if !metav1.IsControlledBy(made, owner) {
		t.Errorf("the owners are %v", made.OwnerReferences)
	}
	same, err := ensure(map[string]string{"one": "1"})
	must.OK(t, err)
	if same.ResourceVersion != made.ResourceVersion {
		t.Error("the same data were written again")
	}
	changed, err := ensure(map[string]string{"two": "2"})
	must.OK(t, err)
	if _, err := children.Modify(ctx, made, func(s *configMap) { s.Data = nil }); !apierrors.IsConflict(err) {
		t.Errorf("a patch of an older state: %v", err)
	}
	if _, err := children.CreateFrom(ctx, meta, func(*configMap) {}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second one: %v", err)
	}
	meta.OwnerReferences[0].UID = "another"
	if _, err := ensure(map[string]string{"two": "3"}); !errors.Is(err, relist.ErrNotOwned) {
		t.Errorf("of another owner: %v", err)
	}
	must.OK(t, children.Delete(ctx, "default/child", writer.DeleteOptions{}))
	if _, err := children.Modify(ctx, changed, func(s *configMap) { s.Data = nil }); !apierrors.IsNotFound(err) {
		t.Errorf("a patch of what is gone: %v", err)
	}

	whole, err := writer.New[*unstructured.Unstructured](client, deployments, writer.Options{FieldManager: "me"})
	must.OK(t, err)
	labels := map[string]any{"app": "web"}
	web, err := whole.CreateFrom(ctx, metav1.ObjectMeta{Namespace: "default", Name: "web"}, func(o *unstructured.Unstructured) {
		o.Object["spec"] = map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
			"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
		}}
	})
	must.OK(t, err)
	ready := func(o *unstructured.Unstructured) { o.Object["status"] = map[string]any{"replicas": int64(2)} }
	status, err := whole.ModifyStatus(ctx, web, ready)
	must.OK(t, err)
	if n, _, _ := unstructured.NestedInt64(status.Object, "status", "replicas"); n != 2 {
		t.Errorf("the status is %v", status.Object["status"])
	}
	if _, err := whole.ModifyStatus(ctx, web, ready); !apierrors.IsConflict(err) {
		t.Errorf("the status of an older state: %v", err)
	}

	// The server has set many fields of the container.
	images, err := writer.New[*deployment](client, deployments, writer.Options{FieldManager: "me"})
	must.OK(t, err)
	have, err := images.MergePatch(ctx, "default/web", []byte(`{}`))
	must.OK(t, err)
	if have.ResourceVersion != status.GetResourceVersion() {
		t.Error("a patch that changes nothing makes a new version")
	}
	_, err = images.Modify(ctx, have, func(d *deployment) { d.Spec.Template.Spec.Containers[0].Image = "i:2" })
	must.OK(t, err)
	now, err := whole.MergePatch(ctx, "default/web", []byte(`{}`))
	must.OK(t, err)
	containers, _, err := unstructured.NestedSlice(now.Object, "spec", "template", "spec", "containers")
	must.OK(t, err)
	before, _, err := unstructured.NestedSlice(status.Object, "spec", "template", "spec", "containers")
	must.OK(t, err)
	before[0].(map[string]any)["image"] = "i:2"
	if diff := cmp.Diff(before, containers); diff != "" || len(before[0].(map[string]any)) < 4 {
		t.Errorf("the containers (-want +got):\n%s", diff)
	}
	if _, err := images.Modify(ctx, have, func(d *deployment) { d.Spec.Template.Spec.Containers = nil }); !apierrors.IsConflict(err) {
		t.Errorf("a patch of an older state: %v", err)
	}
}

// deployment knows two fields of a container.
type deployment struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Name  string `json:"name"`
					Image string `json:"image"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}
