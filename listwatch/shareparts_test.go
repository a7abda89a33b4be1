package listwatch

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/object"
)

// workload is a struct with parts that may be shared.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Selector   map[string]string `json:"selector"`
		Containers []container       `json:"containers"`
		Security   *security         `json:"security"`
		Values     any               `json:"values"`
	} `json:"spec"`
}

type container struct {
	Image string   `json:"image"`
	Args  []string `json:"args"`
}

type security struct {
	User  int64  `json:"user"`
	Group int64  `json:"group"`
	Mode  string `json:"mode"`
}

// workloads is a list of objects that differ only in their names.
var workloads = func() string {
	var items []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		items = append(items, `{"metadata":{"name":"`+name+`","labels":{"app":"web"},"managedFields":[{"manager":"kubelet","fieldsV1":{"f:status":{}}}]},
			"spec":{"selector":{"app":"web","tier":"front of the house"},"containers":[{"image":"v1","args":["--listen=:8080","--verbose"]}],
			"security":{"user":1000,"group":1000,"mode":"restricted"},"values":{"image":"v1","replicas":9007199254740993}}}`)
	}
	return `{"kind":"ConfigMapList","apiVersion":"v1","items":[` + strings.Join(items, ",") + `]}`
}()

func listed[T object.Object](t *testing.T, r *Client[T]) []T {
	t.Helper()
	page, err := r.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(page.Items) != 5 {
		t.Fatalf("%d items, %v", len(page.Items), err)
	}
	return page.Items
}

// Unless a program sets ShareParts, its write to one object changes no other object,
// neither an earlier nor a later one.
func TestWriteToOneObjectChangesNoOther(t *testing.T) {
	t.Run("structs", func(t *testing.T) {
		r := mustNew(t, serve(t, body(workloads)), Options[*workload]{})
		for range 2 {
			for i, w := range listed(t, r) {
				values, _ := w.Spec.Values.(map[string]any)
				if w.Spec.Selector["app"] != "web" || w.Spec.Containers[0].Image != "v1" || w.Spec.Containers[0].Args[1] != "--verbose" ||
					w.Spec.Security.User != 1000 || w.Labels["app"] != "web" || values["image"] != "v1" {
					t.Fatalf("object %d was changed: %+v", i, w)
				}
				w.Spec.Selector["app"], w.Spec.Containers[0].Args[1], w.Spec.Containers[0].Image = "x", "x", "x"
				w.Spec.Security.User, w.Labels["app"], values["image"] = 0, "x", "x"
			}
		}
	})
	t.Run("Unstructured", func(t *testing.T) {
		r := mustNew(t, serve(t, body(workloads)), Options[*unstructured.Unstructured]{})
		for range 2 {
			for i, u := range listed(t, r) {
				if image, _, _ := unstructured.NestedString(u.Object, "spec", "values", "image"); image != "v1" {
					t.Fatalf("object %d was changed: image is %q", i, image)
				}
				must.OK(t, unstructured.SetNestedField(u.Object, "x", "spec", "values", "image"))
			}
		}
	})
}

// partByPart is a list that ends with objects like those of workloads. Before them, each part comes
// twice with no other part in between, and after the parts that it has itself. A part is kept when
// it comes again, unless another part has taken its place in between, and a random hash decides
// which parts have the same place.
func partByPart() string {
	const (
		selector   = `{"app":"web","tier":"front of the house"}`
		args       = `["--listen=:8080","--verbose"]`
		container  = `{"image":"v1","args":` + args + `}`
		containers = `[` + container + `]`
		security   = `{"user":1000,"group":1000,"mode":"restricted"}`
		values     = `{"image":"v1","replicas":9007199254740993}`
		spec       = `{"selector":` + selector + `,"containers":` + containers + `,"security":` + security + `,"values":` + values + `}`
	)
	var items []string
	twice := func(part string) {
		for _, name := range []string{"a", "b"} {
			items = append(items, `{"metadata":{"name":"`+name+`","labels":{"app":"web"}},`+part+`}`)
		}
	}
	for _, text := range []string{selector, args, container, containers, security, values} {
		twice(`"part":` + text) // for unstructured objects
	}
	twice(`"spec":{"selector":` + selector + `}`)
	twice(`"spec":{"containers":` + containers + `}`)
	twice(`"spec":{"security":` + security + `}`)
	twice(`"spec":{"values":` + values + `}`)
	twice(`"spec":` + spec)
	twice(`"spec":` + spec)
	return `{"kind":"ConfigMapList","apiVersion":"v1","items":[` + strings.Join(items, ",") + `]}`
}

// lastTwo returns the last two objects of partByPart.
func lastTwo[T object.Object](t *testing.T) (a, b T) {
	t.Helper()
	page, err := mustNew(t, serve(t, body(partByPart())), Options[T]{ShareParts: true}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(page.Items) < 2 {
		t.Fatalf("%d items, %v", len(page.Items), err)
	}
	return page.Items[len(page.Items)-2], page.Items[len(page.Items)-1]
}

// With ShareParts, equal parts of two objects are one in memory, but their metadata
// are not.
func TestShareParts(t *testing.T) {
	a, b := lastTwo[*workload](t)
	if a.Spec.Security != b.Spec.Security || &a.Spec.Containers[0] != &b.Spec.Containers[0] || !same(a.Spec.Selector, b.Spec.Selector) ||
		!same(a.Spec.Values.(map[string]any), b.Spec.Values.(map[string]any)) {
		t.Errorf("parts of %+v are not one with those of %+v", a, b)
	}
	if same(a.Labels, b.Labels) {
		t.Error("labels are shared")
	}
	if &append(a.Spec.Containers, container{})[0] == &b.Spec.Containers[0] {
		t.Error("who appends to a shared slice writes behind it")
	}

	c, d := lastTwo[*unstructured.Unstructured](t)
	if !same(c.Object["spec"].(map[string]any), d.Object["spec"].(map[string]any)) {
		t.Error("parts of unstructured objects are not one")
	}
	if same(c.Object["metadata"].(map[string]any), d.Object["metadata"].(map[string]any)) {
		t.Error("metadata is shared")
	}
}

// same reports whether a and b are the same map.
func same[K comparable, V any](a, b map[K]V) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// All objects share managedFields, also if the program has a Transform.
func TestManagedFieldsAreShared(t *testing.T) {
	for name, transform := range map[string]func(*workload) (*workload, error){
		"without a transform": nil,
		"with one":            func(w *workload) (*workload, error) { return w, nil },
	} {
		items := listed(t, mustNew(t, serve(t, body(workloads)), Options[*workload]{Transform: transform}))
		if items[3].ManagedFields[0].FieldsV1 != items[4].ManagedFields[0].FieldsV1 {
			t.Errorf("%s: managedFields are not one in memory", name)
		}
	}
	u := listed(t, mustNew(t, serve(t, body(workloads)), Options[*unstructured.Unstructured]{}))
	fields := func(u *unstructured.Unstructured) map[string]any {
		entries, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
		return entries.([]any)[0].(map[string]any)["fieldsV1"].(map[string]any)
	}
	if !same(fields(u[3]), fields(u[4])) {
		t.Error("managedFields of unstructured objects are not one in memory")
	}
}

func TestSharePartsExcludesTransform(t *testing.T) {
	_, err := New(serve(t, body(workloads)), configMaps, Options[*workload]{
		ShareParts: true,
		Transform:  func(w *workload) (*workload, error) { return w, nil },
	})
	if err == nil || !strings.Contains(err.Error(), "ShareParts and Transform exclude each other") {
		t.Errorf("error is %v", err)
	}
}
