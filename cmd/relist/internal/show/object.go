// Package show prints objects: whole, and what has changed in them.
//
// What a server wrote into an object reaches a terminal only in a form in which the
// terminal shows it and does not obey it.
//
// Begin with Object, Diff and Formats.
package show

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/relist-go/relist/cmd/internal/cli/report"
)

// Object returns the JSON of an object as maps, slices and plain values, with whole numbers as
// int64. If the object names no kind, as in a list, it gets that of gvk.
func Object(raw []byte, gvk schema.GroupVersionKind) (map[string]any, error) {
	var object map[string]any
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	if object == nil {
		object = map[string]any{}
	}
	if _, ok := object["kind"]; !ok {
		object["apiVersion"], object["kind"] = gvk.ToAPIVersionAndKind()
	}
	return object, nil
}

// encode returns a value as JSON on one line. Whatever is in it, all characters can be seen.
func encode(v any) []byte { return report.SafeJSON(plain(v)) }

// plain returns a value as JSON on one line, with its characters as they are, except for the
// control characters of ASCII.
func plain(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		// unreachable: the value was decoded from JSON.
		panic("show: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
