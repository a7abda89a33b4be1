package apitest

import (
	"net/http"
	"strings"
)

// The OpenAPI documents describe only this server: which paths can be patched, for which kinds, and
// that these paths take the query parameter fieldValidation. kubectl looks for that before it
// leaves validation to the server.
//
// There are no schemas. No path offers strategic merge patches, so kubectl does not look for list
// types in the schemas, and uses those that it knows.

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
		paths[path] = map[string]any{"patch": map[string]any{
			"operationId": "patch" + r.Kind,
			"parameters": []any{
				queryParameter("dryRun"), queryParameter("fieldManager"), queryParameter("fieldValidation"), queryParameter("force"),
			},
			"responses":                       map[string]any{"200": map[string]any{"description": "OK"}},
			"x-kubernetes-action":             "patch",
			"x-kubernetes-group-version-kind": map[string]any{"group": r.Group, "version": r.Version, "kind": r.Kind},
		}}
	}
	writeJSON(w, http.StatusOK, map[string]any{"openapi": "3.0.0", "info": openAPIInfo, "paths": paths})
	return true
}

func queryParameter(name string) map[string]any {
	return map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": "string", "uniqueItems": true}}
}

var openAPIInfo = map[string]any{"title": "Kubernetes", "version": "v1.36.0"}

// serveOpenAPIv2 answers with a document without types. kubectl reads it if a type is not in
// OpenAPI v3, and then says that the server does not have the type. kubectl reads protobuf alone,
// the message Document of gnostic: the fields swagger (1) and info (2), and in info the fields
// title (1) and version (2). https://github.com/google/gnostic/blob/main/openapiv2/OpenAPIv2.proto
func serveOpenAPIv2(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Vary", "Accept")
	if strings.Contains(req.Header.Get("Accept"), "proto-openapi.spec.v2") {
		const document = "\x0a\x032.0" + "\x12\x15" + "\x0a\x0aKubernetes" + "\x12\x07v1.36.0"
		writeBytes(w, http.StatusOK, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", []byte(document))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"swagger": "2.0", "info": openAPIInfo, "paths": map[string]any{}, "definitions": map[string]any{}})
}
