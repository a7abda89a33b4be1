package apitest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
)

func TestDiscovery(t *testing.T) {
	const aggregatedV2 = "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
	opts := Options{Resources: []Resource{
		{Plural: "pods", Kind: "Pod", ShortNames: []string{"po"}, Categories: []string{"all"}, Status: true},
		{Group: "example.com", Version: "v2", Plural: "widgets", Kind: "Widget", Custom: true, ClusterScoped: true},
	}}
	const verbs = `["create","delete","deletecollection","get","list","patch","update","watch"]`
	for _, tt := range []struct{ path, accept, want string }{
		{"/apis", "", `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v2","version":"v2"}],"preferredVersion":{"groupVersion":"example.com/v2","version":"v2"}}]}`},
		{"/apis/example.com", "", `{"kind":"APIGroup","apiVersion":"v1","name":"example.com","versions":[{"groupVersion":"example.com/v2","version":"v2"}],"preferredVersion":{"groupVersion":"example.com/v2","version":"v2"}}`},
		{"/api/v1", "", `{"kind":"APIResourceList","groupVersion":"v1","resources":[` +
			`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":` + verbs + `,"shortNames":["po"],"categories":["all"]},` +
			`{"name":"pods/status","singularName":"","namespaced":true,"kind":"Pod","verbs":["get","patch","update"]}]}`},
		{"/apis/example.com/v2", "", `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v2","resources":[` +
			`{"name":"widgets","singularName":"widget","namespaced":false,"kind":"Widget","verbs":` + verbs + `}]}`},
		{"/api", aggregatedV2, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{},"versions":[{"version":"v1","resources":[` +
			`{"resource":"pods","responseKind":{"group":"","version":"","kind":"Pod"},"scope":"Namespaced","singularResource":"pod","verbs":` + verbs + `,"shortNames":["po"],"categories":["all"],` +
			`"subresources":[{"subresource":"status","responseKind":{"group":"","version":"","kind":"Pod"},"verbs":["get","patch","update"]}]}],"freshness":"Current"}]}]}`},
		{"/apis", aggregatedV2, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{"name":"example.com"},"versions":[{"version":"v2","resources":[` +
			`{"resource":"widgets","responseKind":{"group":"example.com","version":"v2","kind":"Widget"},"scope":"Cluster","singularResource":"widget","verbs":` + verbs + `}],"freshness":"Current"}]}]}`},
		{"/openapi/v3", "", `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1"},"apis/example.com/v2":{"serverRelativeURL":"/openapi/v3/apis/example.com/v2"}}}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := serve(t, opts)
			var header []string
			if tt.accept != "" {
				header = append(header, tt.accept)
			}
			a := f.get(tt.path, header...)
			if diff := cmp.Diff(tt.want+"\n", a.body); diff != "" {
				t.Errorf("%s %s:\n%s", tt.path, tt.accept, diff)
			}
			if tt.accept != "" && !strings.Contains(a.header.Get("Content-Type"), "as=APIGroupDiscoveryList") {
				t.Errorf("%s is a %s", tt.path, a.header.Get("Content-Type"))
			}
		})
	}
}

func TestDescribesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		for _, path := range []string{"/healthz", "/readyz", "/livez", "/version", "/api", "/apis", "/api/v1", "/apis/apps/v1", "/apis/apps", "/openapi/v2", "/openapi/v3/apis/apps/v1"} {
			if a := f.get(path); a.code != http.StatusOK {
				t.Errorf("%s: %d", path, a.code)
			}
		}
		for _, path := range []string{"/", "/apis/nope", "/apis/apps/v9", "/openapi/v3/apis/nope/v1"} {
			if a := f.get(path); a.code != http.StatusNotFound {
				t.Errorf("%s: %d", path, a.code)
			}
		}
		// kubectl lets the server validate if a patch of the kind takes this parameter.
		if a := f.get("/openapi/v3/apis/apps/v1"); !strings.Contains(a.body, `"name":"fieldValidation"`) || !strings.Contains(a.body, `"kind":"Deployment"`) {
			t.Error(a.body)
		}
	})
}

// kubectl asks for OpenAPI v2 as protobuf before it applies an object of a type that the server
// does not have. If it cannot read the answer, it stops there and does not say that there is no
// such type.
func TestOpenAPIv2(t *testing.T) {
	const protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	for accept, want := range map[string]struct{ media, body string }{
		"":                 {"application/json", `"swagger":"2.0"`},
		"*/*":              {"application/json", `"swagger":"2.0"`},
		"application/json": {"application/json", `"swagger":"2.0"`},
		"application/com.github.proto-openapi.spec.v2@v1.0+protobuf": {protobuf, "\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.0"},
		protobuf + ", application/json":                              {protobuf, "\x0a\x032.0"},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := serve(t, Options{}).get("/openapi/v2", "Accept: "+accept)
			if a.code != http.StatusOK || a.header.Get("Content-Type") != want.media || !strings.Contains(a.body, want.body) {
				t.Errorf("Accept %q: %d, %s, %q", accept, a.code, a.header.Get("Content-Type"), a.body)
			}
		})
	}
}

func TestTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accept = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
		f := serve(t, Options{})
		f.create("d/a", "d/b")
		type table struct {
			Kind              string
			Metadata          struct{ ResourceVersion, Continue string }
			ColumnDefinitions []struct{ Name string }
			Rows              []struct {
				Cells  []any
				Object struct {
					Kind     string
					Metadata struct{ Name string }
				}
			}
		}
		read := func(s string) (tb table) {
			if err := json.Unmarshal([]byte(s), &tb); err != nil {
				t.Fatalf("%v in %s", err, s)
			}
			return tb
		}
		tb := read(f.get(inD+"?limit=1", accept).body)
		if tb.Kind != "Table" || tb.Metadata.Continue == "" || len(tb.Rows) != 1 || cmp.Diff(tb.Rows[0].Cells, []any{"a", 1.0, "0s"}) != "" ||
			tb.Rows[0].Object.Kind != "PartialObjectMetadata" || len(tb.ColumnDefinitions) != 3 {
			t.Errorf("list: %+v", tb)
		}
		tb = read(f.get(inD+"/b?includeObject=Object", accept).body)
		if tb.Metadata.ResourceVersion != "3" || tb.Rows[0].Object.Kind != "ConfigMap" {
			t.Errorf("get: %+v", tb)
		}
		if tb = read(f.get("/api/v1/namespaces", accept).body); len(tb.ColumnDefinitions) != 2 {
			t.Errorf("another type: %+v", tb)
		}
		if tb = read(f.get(inD+"/b?includeObject=None", accept).body); tb.Rows[0].Object.Kind != "" {
			t.Errorf("get: %+v", tb)
		}
		a := f.get(configMaps+"&timeoutSeconds=1&allowWatchBookmarks=1", accept)
		var types []string
		for line := range strings.Lines(a.body) {
			var ev struct {
				Type   string
				Object table
			}
			if err := json.Unmarshal([]byte(line), &ev); err != nil || ev.Object.Kind != "Table" || len(ev.Object.Rows) != 1 {
				t.Errorf("%s: %v", line, err)
			}
			types = append(types, ev.Type)
		}
		if cmp.Diff(types, []string{"ADDED", "ADDED", "BOOKMARK"}) != "" {
			t.Errorf("watch: %v", types)
		}
		f.Compact()
		f.touch("d/a")
		if a := f.get(configMaps+"&resourceVersion=1", accept); !strings.HasPrefix(a.body, `{"type":"ERROR","object":{"kind":"Status"`) {
			t.Errorf("an error among tables: %s", a.body)
		}
		must.Get[string](t)(f.Create("configmaps", map[string]any{
			"metadata": map[string]any{"namespace": "e", "name": "broken"}, "data": "none",
		}))
		if tb = read(f.get("/api/v1/namespaces/e/configmaps", accept).body); cmp.Diff(tb.Rows[0].Cells, []any{"broken", "<invalid>", "0s"}) != "" {
			t.Errorf("a ConfigMap whose data is none: %+v", tb)
		}
	})
}

func TestMetadataWatchBookmark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serve(t, Options{})
		f.create("d/a")
		const accept = "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		a := f.get(configMaps+"&timeoutSeconds=1&allowWatchBookmarks=1", accept)
		for line := range strings.Lines(a.body) {
			if !strings.Contains(line, `"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"`) {
				t.Error(line)
			}
		}
		if a := f.get(inD+"/a", accept); strings.Contains(a.body, `"data"`) || !strings.Contains(a.body, `"name":"a"`) {
			t.Error(a.body)
		}
	})
}
