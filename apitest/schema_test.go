package apitest

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/internal/must"
)

// Every field is of a kind that there is, and every built-in type that is served by default has a
// message.
func TestSchemaIsComplete(t *testing.T) {
	for name, m := range messageTypes() { // each by itself
		for _, f := range m.fields {
			if !slices.Contains([]string{"string", "bytes", "bool", "int"}, f.kind) && wellKnown[f.kind] == nil && messageTypes()[f.kind] == nil {
				t.Errorf("%s.%s is of no kind %q", name, f.name, f.kind)
			}
		}
	}
	for _, res := range DefaultResources() {
		res = res.complete()
		if _, served := newProtobufFormat(&table{res: &res}, whole, ""); served == res.Custom {
			t.Errorf("%s: protobuf %v, custom %v", res.ID(), served, res.Custom)
		}
	}
}

// A Pod goes out and comes in as protobuf with all that it says.
func TestPodsInProtobuf(t *testing.T) {
	pod := map[string]any{
		"metadata": map[string]any{"name": "p", "labels": map[string]any{"a": "b"}},
		"spec": map[string]any{
			"nodeName": "n", "terminationGracePeriodSeconds": int64(0), "hostNetwork": true,
			"containers": []any{map[string]any{
				"name": "c", "image": "i", "ports": []any{map[string]any{"containerPort": int64(80)}},
				"resources":     map[string]any{"limits": map[string]any{"cpu": "100m"}},
				"livenessProbe": map[string]any{"httpGet": map[string]any{"port": "http"}},
			}},
			"volumes": []any{map[string]any{"name": "v", "emptyDir": map[string]any{}}},
		},
		"status": map[string]any{"phase": "Running", "startTime": "2020-01-01T00:00:00Z"},
	}
	m := messageOf(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	b, err := m.encode(pod)
	must.OK(t, err)
	got, err := m.decode(b, maxDepth)
	must.OK(t, err)
	if diff := cmp.Diff(pod, got); diff != "" {
		t.Errorf("-sent +came back:\n%s", diff)
	}
	for _, wrong := range []map[string]any{
		{"spec": "text"},
		{"spec": map[string]any{"nodeName": 5}},
		{"spec": map[string]any{"containers": map[string]any{}}},
		{"metadata": map[string]any{"labels": map[string]any{"a": int64(5)}}},
		{"status": map[string]any{"startTime": "yesterday"}},
	} {
		if _, err := m.encode(wrong); err == nil {
			t.Errorf("%v is no Pod, and was encoded", wrong)
		}
	}
	for n := range b {
		if _, err := m.decode(b[:n], maxDepth); err == nil && n > 0 && strings.Contains(string(b[:n]), "containers") {
			t.Errorf("the first %d bytes are no message, and were decoded", n)
		}
	}
}

// What kubectl create and client-go send as protobuf is stored as if it had come as JSON.
func TestWritesInProtobuf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		body := func(kind schema.GroupVersionKind, obj map[string]any) string {
			b, err := messageOf(kind).encode(obj)
			must.OK(t, err)
			return string(appendEnvelope(nil, kind, b))
		}
		const header = "Content-Type: " + protobufMediaType
		deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
		web := map[string]any{"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": int64(3)}}
		const path = "/apis/apps/v1/namespaces/d/deployments"
		if a := f.do("POST", path, body(deployment, web), header); a.code != 201 || !strings.Contains(a.body, `"replicas":3`) {
			t.Errorf("create: %d %s", a.code, a.body)
		}
		if a := f.do("PUT", path+"/web", body(deployment, web), header); a.code != 200 {
			t.Errorf("update: %d %s", a.code, a.body)
		}
		if a := f.do("POST", inD, body(deployment, web), header); a.code != 400 {
			t.Errorf("another kind: %d %s", a.code, a.body)
		}
		options, err := messageTypes()["meta/v1.DeleteOptions"].encode(map[string]any{"dryRun": []any{"All"}})
		must.OK(t, err)
		dry := string(appendEnvelope(nil, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DeleteOptions"}, options))
		if a := f.do("DELETE", path+"/web", dry, header); a.code != 200 {
			t.Errorf("delete: %d %s", a.code, a.body)
		}
		if a := f.get(path + "/web"); a.code != 200 {
			t.Errorf("a dry run in protobuf deleted: %d", a.code)
		}
	})
}

func FuzzDecodeEnvelope(f *testing.F) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	b, err := messageOf(kind).encode(map[string]any{"metadata": map[string]any{"name": "p"}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(appendEnvelope(nil, kind, b))
	f.Fuzz(func(t *testing.T, body []byte) {
		obj, err := decodeEnvelope(body)
		if err != nil {
			return
		}
		if _, err := appendJSON(nil, obj); err != nil && !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%v cannot be written as JSON: %v", obj, err)
		}
	})
}
