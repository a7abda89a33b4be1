package jsonpath

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const pod = `{
	"metadata": {"name": "web-0", "labels": {"app.kubernetes.io/name": "shop", "tier": "front"}},
	"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:2"}], "hostNetwork": false},
	"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "False"}]}
}`

func object(t testing.TB) any {
	t.Helper()
	var o any
	if err := json.Unmarshal([]byte(pod), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTemplates(t *testing.T) {
	for template, want := range map[string]string{
		`{.metadata.name}`:                                                  "web-0",
		`{metadata.name}`:                                                   "web-0",
		`name: {.metadata.name}{"\n"}`:                                      "name: web-0\n",
		`{.metadata.labels.app\.kubernetes\.io/name}`:                       "shop",
		`{.metadata.labels['app.kubernetes.io/name']}`:                      "shop",
		`{.metadata["labels"]["tier"]}`:                                     "front",
		`{.metadata.labels.*}`:                                              "shop front",
		`{.spec.containers[0].image} {.spec.containers[-1].image}`:          "x:1 y:2",
		`{.spec.containers[*].name}`:                                        "a b",
		`{.spec.containers[2].name}{.spec.containers[-3]}{.none.at}`:        "",
		`{.spec.hostNetwork}`:                                               "false",
		`{range .spec.containers[*]}{.name}={$.metadata.name}{'\t'}{end}.`:  "a=web-0\tb=web-0\t.",
		`{range .status.conditions[*]}{range .type}{@}{end};{end}`:          "Ready;Initialized;",
		`{.status.conditions[?(@.type=="Ready")].status}`:                   "True",
		`{.status.conditions[?(@.type != 'Ready')].type}`:                   "Initialized",
		`{.spec.containers[?(@.none=="x")].name}`:                           "",
		`{"{"}{.metadata.name}{'}'}`:                                        "{web-0}",
		`{ .metadata.name }`:                                                "web-0",
		`{$.metadata.name}{@.metadata.name}`:                                "web-0web-0",
		`{.metadata.name[0]}{.metadata[0]}{.spec.containers.name}{.spec.*}`: "[map[image:x:1 name:a] map[image:y:2 name:b]] false",
	} {
		parsed, err := Parse(template)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if got := parsed.Execute(object(t), func(v any) string { return fmt.Sprint(v) }); got != want {
			t.Errorf("%s prints %q, want %q", template, got, want)
		}
	}
}

func TestTemplatesThatAreRefused(t *testing.T) {
	for template, want := range map[string]string{
		`.metadata.name`:                    "has no path: write it in braces",
		`{`:                                 "is not closed by }",
		`{}`:                                "nothing stands between { and }",
		`{..name}`:                          "the search .. is not supported; relist understands .field",
		`{.a[1:2]}`:                         "[1:2] is not supported",
		`{.a['x','y']}`:                     "is not supported",
		`{.a[}`:                             "is not closed by ]",
		`{.a[]}`:                            "nothing stands between [ and ]",
		`{.a[?(@.x>1)]}`:                    `relist understands [?(@.field=="value")]`,
		`{.a[?(.x==1)]}`:                    `relist understands [?(@.field=="value")]`,
		`{.a[?(@.x=="y)]}`:                  "is not closed by }",
		`{.a.}`:                             "a name is missing after the dot",
		`{range .a[*]}`:                     "{range} without {end}",
		`{end}`:                             "{end} without {range}",
		`{"a}`:                              "is not closed by }",
		`{"a"b}`:                            "stands after the string",
		`{"\q"}`:                            "escape that is not understood",
		`{range }{end}`:                     "",
		`{.a]}` + strings.Repeat("{.b}", 2): "",
	} {
		_, err := Parse(template)
		if want == "" {
			continue // any answer but a panic
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", template, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{.a['b'][0][*].c}`, `{range .a}{"\n"}{end}`, `{.a[?(@.b!='c')]}`, `\{`, `{\`, `{.a\`} {
		f.Add(s)
	}
	o := object(f)
	f.Fuzz(func(_ *testing.T, template string) {
		if parsed, err := Parse(template); err == nil {
			_ = parsed.Execute(o, func(v any) string { return fmt.Sprint(v) })
		}
	})
}
