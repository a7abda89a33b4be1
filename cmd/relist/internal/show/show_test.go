package show

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/relist-go/relist/internal/must"
)

var configMap = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	object, err := Object([]byte(text), configMap)
	must.OK(t, err)
	return object
}

func TestDiffNamesFields(t *testing.T) {
	for _, tt := range []struct{ name, before, after, want string }{
		{"nothing", `{"a":1}`, `{"a":1}`, ``},
		{"a value", `{"spec":{"replicas":2}}`, `{"spec":{"replicas":3}}`, `.spec.replicas 2 3;`},
		{"a new field", `{}`, `{"data":{"k":"v"}}`, `.data  {"k":"v"};`},
		{"a field less", `{"data":{"k":"v","l":1}}`, `{"data":{"l":1}}`, `.data.k "v" ;`},
		{"null", `{"a":null}`, `{"a":1}`, `.a null 1;`},
		{"another type", `{"a":"1"}`, `{"a":1}`, `.a "1" 1;`},
		{"large numbers", `{"a":9007199254740993}`, `{"a":9007199254740992}`, `.a 9007199254740993 9007199254740992;`},
		{"a name with dots", `{}`, `{"x.y/z":true}`, `["x.y/z"]  true;`},
		{"an element", `{"l":[{"n":1},{"n":2}]}`, `{"l":[{"n":1},{"n":3}]}`, `.l[1].n 2 3;`},
		{"a new element", `{"l":["a"]}`, `{"l":["a","b"]}`, `.l[1]  "b";`},
		{"an element less", `{"l":["a","b"]}`, `{"l":["a"]}`, `.l[1] "b" ;`},
		{"in order", `{"b":1,"a":1}`, `{"b":2,"a":2}`, `.a 1 2;.b 1 2;`},
		{"bookkeeping", `{"metadata":{"resourceVersion":"1","managedFields":[{"a":1}],"name":"n"}}`, `{"metadata":{"resourceVersion":"2","name":"n","managedFields":[]}}`, ``},
		{"the kind is known", `{}`, `{"kind":"ConfigMap","apiVersion":"v1"}`, ``},
	} {
		var got strings.Builder
		for _, c := range Diff(parse(t, tt.before), parse(t, tt.after)) {
			got.WriteString(c.Path + " " + string(c.Old) + " " + string(c.New) + ";")
		}
		if got.String() != tt.want {
			t.Errorf("%s: got %s want %s", tt.name, got.String(), tt.want)
		}
	}
}

func TestObjectRefusesWhatIsNoObject(t *testing.T) {
	for _, text := range []string{"", "[]", "{", `"a"`} {
		if _, err := Object([]byte(text), configMap); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestFormats(t *testing.T) {
	c := Change{Type: "Added", Key: "d/a", Version: "7", Object: parse(t, `{"metadata":{"name":"a","namespace":"d"},"data":{"k":"<v>","l":["x","y"]}}`)}
	for _, tt := range []struct{ output, want string }{
		{"yaml", "---\n# Added d/a at 7\napiVersion: v1\ndata:\n  k: <v>\n  l:\n  - x\n  - \"y\"\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: d\n"},
		{"json-object", `{"type":"Added","object":{"apiVersion":"v1","data":{"k":"<v>","l":["x","y"]},"kind":"ConfigMap","metadata":{"name":"a","namespace":"d"}}}` + "\n"},
	} {
		if got := Formats[tt.output](c); got != tt.want {
			t.Errorf("%s: got\n%q\nwant\n%q", tt.output, got, tt.want)
		}
	}
}

// Whatever a server has put into an object, all of it can be seen, a terminal does not obey it, and
// no line can be made up.
func TestEverythingOfAnObjectCanBeSeen(t *testing.T) {
	const strange = "x\x1b[2J\r\n# Deleted d/b at 9\u009b31m \u202e\x7f\ufeff\uffff\U000e0001"
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": strange, strange: 1}, "data": map[string]any{"k": strange}})
	must.OK(t, err)
	c := Change{Type: "Added", Key: "d/" + strange, Version: strange, Object: parse(t, string(text))}
	for output, format := range Formats {
		got := format(c)
		for _, r := range got {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("%s: %U is printed: %q", output, r, got)
				break
			}
		}
		if strings.Contains(got, "\n# Deleted d/b") {
			t.Errorf("%s: the server has made up a line:\n%s", output, got)
		}
	}
	var back map[string]any
	if err := yaml.Unmarshal([]byte(Formats["yaml"](c)), &back); err != nil || !reflect.DeepEqual(back["data"], c.Object["data"]) {
		t.Errorf("YAML of %q is read as %q (%v)", c.Object, back, err)
	}
	if path := pathText(t, strange); strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("a path is %q", path)
	}
}

// pathText is the path of a field that has changed.
func pathText(t *testing.T, name string) string {
	changes := Diff(map[string]any{name: "a"}, map[string]any{name: "b"})
	if len(changes) != 1 {
		t.Fatal(changes)
	}
	return changes[0].Path
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}]}`), []byte(`{"a":[{"b":2},"x"]}`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		a, err := Object(before, configMap)
		if err != nil {
			return
		}
		b, err := Object(after, configMap)
		if err != nil {
			return
		}
		there, back := Diff(a, b), Diff(b, a)
		if (len(there) == 0) != (len(back) == 0) || len(Diff(a, a)) > 0 {
			t.Errorf("%d changes there, %d back", len(there), len(back))
		}
	})
}
