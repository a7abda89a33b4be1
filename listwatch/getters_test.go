package listwatch

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/source"
)

// withoutNamespace is a type for cluster-scoped objects, or one with a mistyped tag.
type withoutNamespace struct {
	Metadata struct {
		Namespace       string    `json:"nameSpace"`
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
}

func (w *withoutNamespace) GetNamespace() string       { return w.Metadata.Namespace }
func (w *withoutNamespace) GetName() string            { return w.Metadata.Name }
func (w *withoutNamespace) GetUID() types.UID          { return w.Metadata.UID }
func (w *withoutNamespace) GetResourceVersion() string { return w.Metadata.ResourceVersion }

// withoutProbe decodes itself, and nothing but the server's objects.
type withoutProbe struct{ withoutNamespace }

func (w *withoutProbe) UnmarshalJSON(data []byte) error {
	if !strings.Contains(string(data), `"data"`) {
		panic("an object without data")
	}
	w.Metadata.Name, w.Metadata.UID, w.Metadata.ResourceVersion = "a", "u", "5"
	return nil
}

// Two objects of one name in two namespaces would have one key: each is an object error.
func TestNamespaceThatTheGetterDoesNotReturn(t *testing.T) {
	const namespaced = `{"kind":"ConfigMapList","items":[` +
		`{"metadata":{"namespace":"n","name":"a","uid":"u","resourceVersion":"5"},"data":{}},` +
		`{"metadata":{"namespace":"m","name":"a","uid":"v","resourceVersion":"6"},"data":{}}]}`
	client := serve(t, body(namespaced))
	page, err := mustNew(t, client, Options[*withoutNamespace]{}).List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	checkNamespaceErrors(t, page.Items, page.Errors)
	own, err := mustNew(t, client, Options[*withoutProbe]{}).List(t.Context(), metav1.ListOptions{})
	must.OK(t, err)
	checkNamespaceErrors(t, own.Items, own.Errors)
}

func checkNamespaceErrors[T any](t *testing.T, items []T, errors []*source.ObjectError) {
	t.Helper()
	if len(items) != 0 || len(errors) != 2 || errors[0].Meta.Key != "n/a" || errors[1].Meta.Key != "m/a" {
		t.Fatalf("items %+v, errors %+v", items, errors)
	}
	for _, want := range []string{"GetNamespace", `"n"`, "`json:\"namespace\"`"} {
		if !strings.Contains(errors[0].Error(), want) {
			t.Errorf("error %q does not say %q", errors[0], want)
		}
	}
}

// A cluster-scoped object needs no namespace.
func TestTypeWithoutNamespaces(t *testing.T) {
	client := serve(t, body(`{"kind":"NodeList","items":[{"metadata":{"name":"a","uid":"u","resourceVersion":"5"},"data":{}}]}`))
	page, err := mustNew(t, client, Options[*withoutNamespace]{}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(page.Errors) != 0 || len(page.Items) != 1 || page.Metas[0].Key != "a" {
		t.Errorf("%+v, %v", page, err)
	}
	own, err := mustNew(t, client, Options[*withoutProbe]{}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(own.Errors) != 0 || len(own.Items) != 1 {
		t.Errorf("%+v, %v", own, err)
	}
}

// If New is given a namespace, each object has one.
func TestNamespaceOfOptionsNeedsTheGetter(t *testing.T) {
	_, err := New(serve(t, body("")), configMaps, Options[*withoutNamespace]{Namespace: "n"})
	if err == nil || !strings.Contains(err.Error(), "GetNamespace") || !strings.Contains(err.Error(), "`json:\"namespace\"`") {
		t.Errorf("error is %v", err)
	}
}
