package wire

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/relist-go/relist/internal/must"
)

func TestParsePath(t *testing.T) {
	for path, want := range map[string][]string{
		"status":                 {"status"},
		"metadata.managedFields": {"metadata", "managedFields"},
		`metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration`: {"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"},
		`a\\.b`: {`a\`, "b"},
		"":      nil, ".": nil, "a.": nil, ".a": nil, "a..b": nil, `a\`: nil, `a\b`: nil,
	} {
		got, err := ParsePath(path)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

func mustDrop(tb testing.TB, paths ...string) *Drop {
	tb.Helper()
	var parsed [][]string
	for _, path := range paths {
		names, err := ParsePath(path)
		must.OK(tb, err)
		parsed = append(parsed, names)
	}
	d, err := NewDrop(parsed)
	must.OK(tb, err)
	return d
}

func TestDrop(t *testing.T) {
	for _, test := range []struct{ paths, object, want string }{
		{"b", `{"a":1,"b":2,"c":3}`, `{"a":1,"c":3}`},
		{"a", `{"a":1,"b":2}`, `{"b":2}`},
		{"c", `{"a":1,"c":3}`, `{"a":1}`},
		{"a", `{"a":1}`, `{}`},
		{"a", ` { "a" : 1 , "b" : 2 } `, `{"b" : 2}`},
		{"a.b", `{"a":{"b":1,"c":2},"b":3}`, `{"a":{"c":2},"b":3}`},
		{"a.b", `{"a":[{"b":1,"c":2},[{"b":1}],3,{"b":1}]}`, `{"a":[{"c":2},[{"b":1}],3,{}]}`},
		{"a.b", `{"a":7}`, `{"a":7}`},
		{"a.b a", `{"a":{"b":1}}`, `{}`},
		{"a a.b", `{"a":{"b":1}}`, `{}`},
		{"a.b a.c", `{"a":{"b":1,"c":2}}`, `{"a":{}}`},
		{"a", `{"a":1,"b":2,"a":3}`, `{"b":2}`},
		{"a", `{"\u0061":1,"b":2}`, `{"b":2}`},
		{"a", `{"b":2,}`, `{"b":2,}`}, // no JSON
		{"a.b", `{"a":{"b":1,"c"},"d":1}`, `{"a":{"b":1,"c"},"d":1}`},
		{"a", `{"a":1}}`, `{"a":1}}`},
		{"a", `{"a":1} x`, `{"a":1} x`},
		{"a", `null`, `null`},
		{"a", ``, ``},
	} {
		got := mustDrop(t, strings.Fields(test.paths)...).Append(nil, []byte(test.object))
		if string(got) != test.want {
			t.Errorf("%s without %s: %s, want %s", test.object, test.paths, got, test.want)
		}
	}
}

func TestDropKeepsIdentity(t *testing.T) {
	for path, ok := range map[string]bool{
		"kind": false, "apiVersion": false, "metadata": false, "metadata.name": false, "metadata.namespace": false, "metadata.uid": false,
		"metadata.resourceVersion": false, "metadata.name.x": false, "metadata.managedFields": true, "metadata.labels.name": true, "spec.kind": true, "name": true,
	} {
		names, err := ParsePath(path)
		must.OK(t, err)
		if _, err := Without([][]string{names}, nil); (err == nil) != ok {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

// Dropping a member from the bytes gives the same object as dropping it after
// decoding.
func FuzzDrop(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[{"c":1}]},"b":2,"d":[{"b":{}}]}`))
	f.Add([]byte(`{"a":1,"a":{"b":1}} `))
	drop := mustDrop(f, "a.b.c", "d.b", "b")
	f.Fuzz(func(t *testing.T, data []byte) {
		got := drop.Append(nil, data)
		var want, have map[string]any
		if !jsontext.Value(data).IsValid() || json.Unmarshal(data, &want) != nil {
			return
		}
		remove(want, "a", "b", "c")
		remove(want, "d", "b")
		remove(want, "b")
		if err := json.Unmarshal(got, &have); err != nil {
			t.Fatalf("%q became %q: %v", data, got, err)
		}
		if !reflect.DeepEqual(want, have) {
			t.Fatalf("%q became %q", data, got)
		}
	})
}

// remove drops a path from decoded JSON.
func remove(v any, path ...string) {
	switch v := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
			return
		}
		remove(v[path[0]], path[1:]...)
	case []any:
		for _, element := range v {
			if object, ok := element.(map[string]any); ok {
				remove(object, path...)
			}
		}
	}
}
