package yaml_test

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/yaml"
)

type config struct {
	Name    string              `json:"name"`
	On      bool                `json:"on,omitempty"`
	Data    []byte              `json:"data"`
	Words   []string            `json:"words"`
	ByName  map[string][]string `json:"byName"`
	Inner   *config             `json:"inner"`
	Any     *yaml.Node          `json:"any"`
	Number  int                 `json:"number"`
	Without string
}

func decode(t *testing.T, document string) (c config, err error) {
	t.Helper()
	n, err := yaml.Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return c, n.Decode(&c)
}

func TestDecode(t *testing.T) {
	for document, want := range map[string]config{
		"":                                   {},
		"name: a\nNAME: b\nunknown: [1]":     {Name: "a"},
		"name: 0x10\n'on': yes":              {Name: "0x10", On: true},
		"name: ~\n'on': null\ninner:\nany:":  {},
		"data: aGVs\n":                       {Data: []byte("hel")},
		"data: |\n  aGVs\n  bG8=\n":          {Data: []byte("hello")},
		"words: [a, 1, true]":                {Words: []string{"a", "1", "true"}},
		"words: []":                          {Words: []string{}},
		"byName: {a: [b], c: []}":            {ByName: map[string][]string{"a": {"b"}, "c": {}}},
		"inner: {inner: {name: a}}":          {Inner: &config{Inner: &config{Name: "a"}}},
		"name: a\nname: b":                   {Name: "b"},
		"inner: &x {name: a}\nbyName: ~\n":   {Inner: &config{Name: "a"}},
		"'': a\nwithout: b\nWithout: c\n":    {},
		"name: |\n  two\n  lines\n# comment": {Name: "two\nlines\n"},
	} {
		got, err := decode(t, document)
		if err != nil {
			t.Errorf("%q: %v", document, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", document, diff)
		}
	}

	got, err := decode(t, "any: {b: [1, 0x1f, yes, ~, x], a: {}}")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := got.Any.JSON(); err != nil || string(text) != `{"a":{},"b":[1,31,true,null,"x"]}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestDecodeErrors(t *testing.T) {
	for document, want := range map[string]string{
		"secret":                       "yaml: the file is of the wrong type (string)",
		"[secret]":                     "yaml: the file is of the wrong type (array)",
		"name: [secret]":               "yaml: name is of the wrong type (array)",
		"name: {secret: 1}":            "yaml: name is of the wrong type (object)",
		"'on': secret":                 "yaml: on is of the wrong type (string)",
		"'on': 'true'":                 "yaml: on is of the wrong type (string)",
		"'on': 1":                      "yaml: on is of the wrong type (number)",
		"data: 1234":                   "yaml: data is of the wrong type (number)",
		"data: secret!":                "yaml: a field that ends in -data: illegal base64 data at input byte 6",
		"words: secret":                "yaml: words is of the wrong type (string)",
		"words: [[secret]]":            "yaml: words is of the wrong type (array)",
		"byName: secret":               "yaml: byName is of the wrong type (string)",
		"byName: {secret: secret}":     "yaml: byName is of the wrong type (string)",
		"inner: {inner: {name: [a]}}":  "yaml: inner.inner.name is of the wrong type (array)",
		"inner: yes":                   "yaml: inner is of the wrong type (bool)",
		"number: 1":                    "yaml: number has the type int, which nothing is decoded into",
		"inner: {inner: {number: 11}}": "yaml: inner.inner.number has the type int, which nothing is decoded into",
	} {
		if _, err := decode(t, document); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", document, err, want)
		}
	}
	if _, err := decode(t, "data: '?'"); !errors.As(err, new(base64.CorruptInputError)) {
		t.Error(err)
	}
}
