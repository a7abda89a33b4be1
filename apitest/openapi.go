package apitest

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The OpenAPI documents describe only this server: which paths can be patched, for which kinds, and that these paths take
// the query parameter fieldValidation. kubectl looks for that before it leaves validation to the server.
//
// The schemas are for kubectl explain. They have the fields and their types, from the table of protobuf messages. They do
// not describe the meaning of a field, and the server checks nothing against them. No path offers strategic merge patches,
// so kubectl does not look for list types in the schemas, and uses those that it knows.

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
		"components": map[string]any{"schemas": schemasOf(in)},
	})
	return true
}

// schemasOf returns the schemas of types and of all that is in their fields, by name.
func schemasOf(in []*Resource) map[string]any {
	all := make(map[string]any)
	for _, r := range in {
		gvk := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		m := messageOf(gvk)
		if m == nil { // a custom type: the server knows only the fields that every object has
			m = &message{name: r.Group + "/" + r.Version + "." + r.Kind, fields: []messageField{{name: "metadata", kind: objectMetaMessage}}}
		}
		s := addSchema(all, m)
		s["description"] = r.Kind + " is a type whose fields this server knows; it does not know what they mean."
		s["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}}
		properties, _ := s["properties"].(map[string]any)
		properties["kind"], properties["apiVersion"] = map[string]any{"type": "string"}, map[string]any{"type": "string"}
	}
	return all
}

const objectMetaMessage = "meta/v1.ObjectMeta"

// schemaName returns the name of a schema, such as io.k8s.api.core.v1.Pod. kubectl shows the last part of it.
func schemaName(m string) string { return "io.k8s.api." + strings.ReplaceAll(m, "/", ".") }

// addSchema adds the schema of a message, and the schemas of the messages in its fields. If the schema is there
// already, addSchema returns that.
func addSchema(all map[string]any, m *message) map[string]any {
	if s, ok := all[schemaName(m.name)].(map[string]any); ok {
		return s
	}
	properties := make(map[string]any)
	s := map[string]any{"type": "object", "properties": properties}
	all[schemaName(m.name)] = s // before its fields, because a field may have the same type
	addProperties(all, properties, m)
	return s
}

func addProperties(all, properties map[string]any, m *message) {
	for _, f := range m.fields {
		if inner := messageTypes()[f.kind]; f.name == "" && inner != nil {
			addProperties(all, properties, inner)
			continue
		}
		of := fieldSchema(all, f)
		if f.mapped {
			of = map[string]any{"type": "object", "additionalProperties": of}
		}
		if f.repeated && f.kind != "bytes" {
			of = map[string]any{"type": "array", "items": of}
		}
		properties[f.name] = of
	}
}

// fieldSchema returns the schema of one value of a field.
func fieldSchema(all map[string]any, f messageField) map[string]any {
	switch f.kind {
	case "string":
		return map[string]any{"type": "string"}
	case "bytes":
		return map[string]any{"type": "string", "format": "byte"}
	case "bool":
		return map[string]any{"type": "boolean"}
	case "int":
		return map[string]any{"type": "integer", "format": "int64"}
	case "time":
		return named(all, "Time", map[string]any{"type": "string", "format": "date-time"})
	case "microtime":
		return named(all, "MicroTime", map[string]any{"type": "string", "format": "date-time"})
	case "quantity":
		return named(all, "Quantity", map[string]any{"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "number"}}})
	case "intstr":
		return named(all, "IntOrString", map[string]any{"oneOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}})
	}
	inner := messageTypes()[f.kind]
	if inner == nil { // raw
		return named(all, "FieldsV1", map[string]any{"type": "object"})
	}
	addSchema(all, inner)
	return map[string]any{"$ref": "#/components/schemas/" + schemaName(inner.name)}
}

// named adds a schema that is not that of a message, and returns a reference to it. kubectl shows its name.
func named(all map[string]any, name string, s map[string]any) map[string]any {
	name = "io.k8s.apimachinery." + name
	all[name] = s
	return map[string]any{"$ref": "#/components/schemas/" + name}
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
