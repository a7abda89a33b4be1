package apitest

import (
	"net/http"
	"slices"

	"sigs.k8s.io/yaml"
)

const yamlMediaType = "application/yaml"

// yamlFormat encodes an answer in JSON. When the answer is complete, writeYAML converts it to YAML. There are no
// watches in YAML.
type yamlFormat struct{ format }

func (yamlFormat) contentType(bool) string { return yamlMediaType }

// writeYAML converts JSON to YAML, and sends that.
func writeYAML(w http.ResponseWriter, code int, b []byte) {
	b, err := yaml.JSONToYAML(b)
	if err != nil {
		// unreachable: this package has encoded the JSON.
		panic("apitest: " + err.Error())
	}
	writeBytes(w, code, yamlMediaType, b)
}

// listAsJSON returns a whole list in JSON.
func listAsJSON(f format, p *page) []byte {
	b := f.listHead(nil, p.meta, p.items)
	for i, r := range p.items {
		b = f.item(b, i, r)
	}
	return f.listTail(b)
}

// writeMeta answers a request for a description of the server, such as its version, in JSON or YAML.
func writeMeta(w http.ResponseWriter, req *http.Request, v any) {
	readable := req.Header.Get("Accept") == ""
	for _, a := range accepts(req) {
		readable = readable || slices.Contains([]string{"application/json", "*/*", yamlMediaType, protobufMediaType}, a.media)
	}
	if !readable {
		writeError(w, notAcceptable())
		return
	}
	if preferred(req) != yamlMediaType {
		writeJSON(w, http.StatusOK, v)
		return
	}
	writeYAML(w, http.StatusOK, mustJSON(v))
}
