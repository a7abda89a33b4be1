package apitest

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const yamlMediaType = "application/yaml"

// yamlFormat converts what a format in JSON writes, a list in one piece. There are no watches in
// YAML.
type yamlFormat struct{ format }

func (yamlFormat) contentType(bool) string { return yamlMediaType }

func (f yamlFormat) object(b []byte, r *revision) []byte {
	return append(b, asYAML(f.format.object(nil, r))...)
}

func (f yamlFormat) listHead(b []byte, meta metav1.ListMeta, items []*revision) []byte {
	list := f.format.listHead(nil, meta, items)
	for i, r := range items {
		list = f.format.item(list, i, r)
	}
	return append(b, asYAML(f.format.listTail(list))...)
}

func (yamlFormat) item(b []byte, _ int, _ *revision) []byte { return b }

func (yamlFormat) listTail(b []byte) []byte { return b }

func asYAML(text []byte) []byte {
	b, err := yaml.JSONToYAML(text)
	if err != nil {
		// unreachable: this package has encoded the JSON.
		panic("apitest: " + err.Error())
	}
	return b
}

// writeMeta answers a request for a description of the server, such as its version, in JSON or
// YAML.
func writeMeta(w http.ResponseWriter, req *http.Request, v any) {
	readable := req.Header.Get("Accept") == ""
	for _, a := range accepts(req) {
		readable = readable || slices.Contains([]string{"application/json", "*/*", yamlMediaType, protobufMediaType}, a.media)
	}
	switch {
	case !readable:
		writeError(w, notAcceptable())
	case preferred(req) == yamlMediaType:
		writeBytes(w, http.StatusOK, yamlMediaType, asYAML(mustJSON(v)))
	default:
		writeJSON(w, http.StatusOK, v)
	}
}
