package writer

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// FuzzEncode gives a Writer what is perhaps an object. What it sends is one, of the right kind.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{`{}`, `{"kind":"ConfigMap"}`, `{"kind":"Secret"}`, `{"kind":1}`, `{"kind":null,"apiVersion":"v1","a":{"b":[1e400]}}`, `[]`, `null`, ``, `{"a":1,"a":2}`, `{"KIND":"x"}`} {
		f.Add([]byte(s))
	}
	w := &Writer[*unstructured.Unstructured]{resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, kind: "ConfigMap"}
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := w.encode(data)
		if err != nil {
			return
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(body, &all); err != nil || string(all["kind"]) != `"ConfigMap"` || string(all["apiVersion"]) != `"v1"` {
			t.Errorf("%q became %q, %v", data, body, err)
		}
	})
}
