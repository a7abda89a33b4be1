package apitest

import (
	"encoding/json"
	"net/http"
	"slices"

	"sigs.k8s.io/yaml"
)

const yamlMediaType = "application/yaml"

// yamlFormat is a form of JSON that is turned into YAML when an answer is complete. There are no watches in it.
type yamlFormat struct{ format }

func (yamlFormat) contentType(bool) string { return yamlMediaType }

// writeYAML sends what was encoded as JSON.
func writeYAML(w http.ResponseWriter, code int, b []byte) {
	b, err := yaml.JSONToYAML(b)
	if err != nil {
		// unreachable: it was encoded by this package.
		panic("apitest: " + err.Error())
	}
	writeBytes(w, code, yamlMediaType, b)
}

// listAsJSON is a whole list in memory.
func listAsJSON(f format, p *page) []byte {
	b := f.listHead(nil, p.meta, p.items)
	for i, r := range p.items {
		b = f.item(b, i, r)
	}
	return f.listTail(b)
}

// writeMeta answers with what describes the server, in the form that was asked for.
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
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeYAML(w, http.StatusOK, b)
}
