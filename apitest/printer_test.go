package apitest

import (
	"fmt"
	"strings"
	"testing"
)

// cells prints an object of a type that DefaultResources has.
func cells(t *testing.T, resource, object string) string {
	t.Helper()
	obj := must[map[string]any](t)(decodeObject([]byte(object)))
	for _, res := range DefaultResources() {
		if res.ID() == resource {
			r := must[*revision](t)(newRevision(&res, obj, 1))
			return strings.TrimSpace(fmt.Sprintln(printers[resource].row(r)...))
		}
	}
	t.Fatalf("no type %s", resource)
	return ""
}

func TestPrinters(t *testing.T) {
	for _, tt := range []struct{ resource, object, want string }{
		{"configmaps", `{"data":{"a":"1","b":"2"},"binaryData":{"c":"Yg=="}}`, "3"},
		{"configmaps", `{}`, "0"},
		{"configmaps", `{"data":"none"}`, "<invalid>"},
		{"secrets", `{"data":{"a":"YQ=="}}`, "Opaque 1"},
		{"secrets", `{"type":"kubernetes.io/tls"}`, "kubernetes.io/tls 0"},
		{"namespaces", `{}`, "Active"},
		{"namespaces", `{"status":{"phase":"Terminating"}}`, "Terminating"},
		{"deployments.apps", `{"status":{"readyReplicas":1,"updatedReplicas":2,"availableReplicas":3}}`, "1/1 2 3"},
		{"deployments.apps", `{"spec":{"replicas":0}}`, "0/0 0 0"},
		{"widgets.example.com", `{}`, ""},
	} {
		if got := cells(t, tt.resource, tt.object); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.resource, tt.object, got, tt.want)
		}
	}
}

func TestPrintersHaveACellForEachColumn(t *testing.T) {
	for id, p := range printers { // each by itself
		got, err := p.cells([]byte("{}"))
		if err != nil || len(got) != len(p.columns) {
			t.Errorf("%s: %d cells, %v", id, len(got), err)
		}
	}
}
