// Package show prints objects: whole, by field, as rows of a table, and what has changed in
// them.
//
// What a server wrote into an object reaches a terminal only in a form in which the
// terminal shows it and does not obey it.
//
// Begin with Object, Diff, Columns and Format.
package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/relist-go/relist/internal/cli/report"
	"github.com/relist-go/relist/internal/visible"
)

// Object returns the JSON of an object as maps, slices and plain values, with whole numbers as int64. If the object
// names no kind, as in a list, it gets that of gvk.
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

// Value returns a value for people: a string as it is, or in quotes if it holds anything that cannot be seen, such
// as a line break; all else as JSON.
func Value(v any) string {
	if s, ok := v.(string); ok {
		if strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
			return quote(s)
		}
		return s
	}
	return quote(v)
}

// quote returns a value as JSON in which everything can be seen.
func quote(v any) string { return visible.OneLine(string(encode(v))) }

// encode returns a value as JSON on one line. Whatever is in it, all characters can be seen.
func encode(v any) []byte { return report.SafeJSON(plain(v)) }

// plain returns a value as JSON on one line, with its characters as they are, except for the control characters of ASCII.
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
