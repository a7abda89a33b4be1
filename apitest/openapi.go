package apitest

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The OpenAPI documents describe only this server: which paths can be patched, for which kinds, and that these paths take
// the query parameter fieldValidation. kubectl looks for that before it leaves validation to the server.
//
// There are no schemas. No path offers strategic merge patches, so kubectl does not look for list types in the schemas, and
// uses those that it knows.

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
		"openapi": "3.0.0",
		"info":    openAPIInfo(),
		"paths":   paths,
	})
	return true
}

func queryParameter(name string) map[string]any {
	return map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": "string", "uniqueItems": true}}
}

const openAPITitle, openAPIVersion = "Kubernetes", "v1.36.0"

func openAPIInfo() map[string]any {
	return map[string]any{"title": openAPITitle, "version": openAPIVersion}
}

const (
	openAPIv2MediaType    = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	openAPIv2OldMediaType = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" // what kubectl asks for
)

// serveOpenAPIv2 answers with a document without types, in JSON or protobuf. kubectl reads it if a type is not in OpenAPI
// v3, and then says that the server does not have the type.
func serveOpenAPIv2(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Vary", "Accept")
	switch acceptedOpenAPIv2(req) {
	case "application/json":
		writeJSON(w, http.StatusOK, map[string]any{
			"swagger": "2.0", "info": openAPIInfo(), "paths": map[string]any{}, "definitions": map[string]any{},
		})
	case openAPIv2MediaType:
		w.Header().Set("Content-Type", openAPIv2MediaType)
		_, _ = w.Write(openAPIv2Document()) // the client may be gone
	default:
		w.WriteHeader(http.StatusNotAcceptable)
	}
}

// acceptedOpenAPIv2 returns the media type of the answer, or "" if the client accepts none. The old media type has an @,
// so mime.ParseMediaType would refuse it.
func acceptedOpenAPIv2(req *http.Request) string {
	header := strings.ReplaceAll(strings.Join(req.Header.Values("Accept"), ","), openAPIv2OldMediaType, openAPIv2MediaType)
	if header == "" {
		return "application/json"
	}
	for _, a := range accepts(&http.Request{Header: http.Header{"Accept": {header}}}) {
		switch a.media {
		case openAPIv2MediaType:
			return openAPIv2MediaType
		case "application/json", "application/*", "*/*":
			return "application/json"
		}
	}
	return ""
}

// openAPIv2Document returns the message Document of gnostic. It has the fields swagger (1) and info (2), and info has the
// fields title (1) and version (2). https://github.com/google/gnostic/blob/main/openapiv2/OpenAPIv2.proto
func openAPIv2Document() []byte {
	field := func(number byte, value string) string {
		return string([]byte{number<<3 | 2, byte(len(value))}) + value // no value is longer than 127 bytes
	}
	return []byte(field(1, "2.0") + field(2, field(1, openAPITitle)+field(2, openAPIVersion)))
}
