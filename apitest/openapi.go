package apitest

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The OpenAPI documents say what is true of this server and no more: which paths can be patched, for which kinds, and that
// the query parameter fieldValidation is understood there. kubectl looks for exactly that before it leaves validation to
// the server. There are no schemas, because nothing is checked against one.

func (s *Server) openAPIIndex() map[string]any {
	paths := make(map[string]any)
	for _, r := range s.roots() {
		paths[strings.TrimPrefix(r.root(), "/")] = map[string]any{"serverRelativeURL": "/openapi/v3" + r.root()}
	}
	return map[string]any{"paths": paths}
}

// serveOpenAPIv3 answers for one group and version, whose path is root.
func (s *Server) serveOpenAPIv3(w http.ResponseWriter, root string) bool {
	in := s.resourcesAt(root)
	if len(in) == 0 {
		return false
	}
	paths := make(map[string]any, len(in))
	for _, r := range in {
		path := root + "/" + r.Plural + "/{name}"
		if !r.ClusterScoped {
			path = root + "/namespaces/{namespace}/" + r.Plural + "/{name}"
		}
		gvk := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		paths[path] = map[string]any{"patch": map[string]any{
			"operationId": "patch" + r.Kind,
			"parameters": []any{
				queryParameter("dryRun"), queryParameter("fieldManager"), queryParameter("fieldValidation"), queryParameter("force"),
			},
			"responses":                       map[string]any{"200": map[string]any{"description": "OK"}},
			"x-kubernetes-action":             "patch",
			"x-kubernetes-group-version-kind": map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
		}}
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"openapi":    "3.0.0",
		"info":       openAPIInfo(),
		"paths":      paths,
		"components": map[string]any{"schemas": map[string]any{}},
	})
	return true
}

func queryParameter(name string) map[string]any {
	return map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": "string", "uniqueItems": true}}
}

func openAPIInfo() map[string]any {
	return map[string]any{"title": "Kubernetes", "version": "v1.36.0"}
}

func serveOpenAPIv2(w http.ResponseWriter) {
	writeJSON(w, http.StatusOK, map[string]any{
		"swagger": "2.0", "info": openAPIInfo(), "paths": map[string]any{}, "definitions": map[string]any{},
	})
}
