package cbor

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/listwatch/source"
)

const twoMaps = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[
	{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5","managedFields":[{"manager":"m"}]},"data":{"k":"v","l":"w"}},
	{"metadata":{"name":"b","namespace":"n","uid":"w","resourceVersion":"6","labels":{"x":"y"}},"data":{"k":"v"}}]}`

// An object that the caller has in the same version is not decoded again.
func TestKnownObjectsAreNotDecodedAgain(t *testing.T) {
	held := &configMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "u", ResourceVersion: "5"}}
	known := func(key string) (*configMap, listwatch.Meta, bool) {
		return held, listwatch.Meta{Key: "n/a", UID: "u", ResourceVersion: "5"}, key == "n/a"
	}
	r := resource[*configMap](t, serve(t, marshal(t, fromJSON(t, twoMaps)), ""))
	var items []*configMap
	_, err := source.EachKnown(t.Context(), r, metav1.ListOptions{}, known, func(p source.Part[*configMap]) error {
		items = append(items, p.Items...)
		return nil
	})
	if err != nil || len(items) != 2 || items[0] != held || items[1].Data["k"] != "v" {
		t.Errorf("got %v, %v", items, err)
	}
}

// A dropped member is missing in structs and in unstructured objects, from lists and from
// events.
func TestDrop(t *testing.T) {
	drop := []string{"metadata.managedFields", "data.k"}
	client := serve(t, marshal(t, fromJSON(t, twoMaps)), event(t, "ADDED", `{"kind":"ConfigMap","metadata":{"name":"c"},"data":{"k":"v","m":"z"}}`))
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	structs, err := listwatch.New(client, configMaps, listwatch.Options[*configMap]{Encoding: Encoding, Drop: drop})
	if err != nil {
		t.Fatal(err)
	}
	page, err := structs.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(page.Items) != 2 {
		t.Fatalf("got %+v, %v", page, err)
	}
	if a, b := page.Items[0], page.Items[1]; a.ManagedFields != nil || len(a.Data) != 1 || a.Data["l"] != "w" || b.Labels["x"] != "y" || len(b.Data) != 0 {
		t.Errorf("got %+v and %+v", a, b)
	}
	watch, err := structs.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if e, err := watch.Next(); err != nil || len(e.Object.Data) != 1 || e.Object.Data["m"] != "z" {
		t.Errorf("got %+v, %v", e, err)
	}
	maps, err := listwatch.New(client, configMaps, listwatch.Options[*unstructured.Unstructured]{Encoding: Encoding, Drop: drop})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(objects.Items) != 2 {
		t.Fatalf("got %+v, %v", objects, err)
	}
	data, _, _ := unstructured.NestedStringMap(objects.Items[0].Object, "data")
	if fields := objects.Items[0].GetManagedFields(); len(fields) > 0 || len(data) != 1 || data["l"] != "w" {
		t.Errorf("got %+v", objects.Items[0])
	}
}
