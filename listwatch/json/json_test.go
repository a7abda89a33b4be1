package json

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const objectJSON = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5"},"data":{"k":"v"}}`

// tokenKind returns the first member kind of an object that is a string, as a tokenizer finds it.
func tokenKind(object []byte) string {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return ""
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if isKind := name.String() == "kind"; err == nil && isKind && d.PeekKind() == '"' {
			kind, _ := d.ReadToken() // the object is valid
			return kind.String()
		}
		_ = d.SkipValue()
	}
	return ""
}

// shapes returns one object in every order of its members, with white space in every place, with a
// kind of its own and without. Nested objects have kinds and versions of their own.
func shapes() (objects []string) {
	members := []string{
		`"kind":"A"`, `"apiVersion":"v1"`,
		`"metadata":{"name":"a","ownerReferences":[{"apiVersion":"apps/v1","kind":"X","name":"x"}]}`,
		`"involved":{"kind":"X","apiVersion":"x/v1"}`,
	}
	var orders [][]string
	var permute func(order, rest []string)
	permute = func(order, rest []string) {
		orders = append(orders, order)
		for i, m := range rest {
			others := append(append([]string{}, rest[:i]...), rest[i+1:]...)
			permute(append(append([]string{}, order...), m), others)
		}
	}
	permute(nil, members)
	for _, order := range orders {
		text := "{" + strings.Join(order, ",") + "}"
		for _, space := range []*strings.Replacer{
			strings.NewReplacer(), strings.NewReplacer(",", ", "), strings.NewReplacer(",", " ,"), strings.NewReplacer(":", ": "),
			strings.NewReplacer(":", " :"), strings.NewReplacer("{", "{\n\t"), strings.NewReplacer("}", "\r\n}"),
		} {
			objects = append(objects, space.Replace(text))
		}
	}
	return objects
}

// FuzzKind compares Kind with a tokenizer. What is nested never counts as the object's own.
func FuzzKind(f *testing.F) {
	for _, object := range shapes() {
		f.Add([]byte(object))
	}
	for _, object := range []string{
		`{"kind":"A","kind":"B"}`, `{"kind":{"kind":"X"},"kind":"A"}`, `{"kind":null,"apiVersion":"v1","kind":"A"}`, `{"kind":""}`,
		`{"apiVersion":"v1","apiVersion":"v2","kind":"A"}`, `{"apiVersion":"","kind":"A"}`, `{"apiVersion":"a\",\"kind\":\"X","kind":"A"}`,
		`{"apiVersion":"v1", "x":{"a":"","kind":"X"}}`, `{"apiVersion":"v1","\u006bind":"A"}`, `{"apiVersion":"v1"`, `{"apiVersion":"v1"kind":"X"`,
	} {
		f.Add([]byte(object))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		got := string((Format{}).Kind(object, false))
		if want := string(walkToKind(object)); got != want {
			t.Fatalf("the kind of %q is %q, and with a walk %q", object, got, want)
		}
		if jsontext.Value(object).IsValid(jsontext.AllowDuplicateNames(true)) && got != tokenKind(object) {
			t.Fatalf("the kind of %q is %q, and with a tokenizer %q", object, got, tokenKind(object))
		}
		if item := string((Format{}).Kind(object, true)); item != got && !bytes.HasPrefix(object, []byte(`{"metadata"`)) {
			t.Fatalf("the kind of %q is %q, and as an item's %q", object, got, item)
		}
	})
}

func TestKind(t *testing.T) {
	for object, want := range map[string]string{
		objectJSON:                                       "ConfigMap",
		`{"kind":"A"}`:                                   "A",
		`{"kind":"A\u0042"}`:                             "AB",
		"\t{ \"kind\" : \"A\" }":                         "A",
		`{"apiVersion":"v1","kind":"A"}`:                 "A",
		`{"apiVersion":"v\"1","kind":"A"}`:               "A",
		`{"apiVersion":"v1"}`:                            "",
		`{"metadata":{"kind":"X"},"x":[{}],"kind":"A"}`:  "A",
		`{"apiVersion":"v1","x":{"kind":"X"},"kind":"A"`: "A",
		`{"apiVersion":{"a":"","kind":"X"},"kind":"A"}`:  "A",
		`{"kind":7}`:                                     "", `{"kind":"A`: "", `{"x":`: "", `{`: "", `[]`: "", `null`: "", ``: "",
	} {
		if got := string((Format{}).Kind([]byte(object), false)); got != want {
			t.Errorf("Kind(%s) = %q, want %q", object, got, want)
		}
	}
	if got := (Format{}).Kind([]byte(`{"metadata":{},"kind":"A"}`), true); got != nil {
		t.Errorf("an item that begins with its metadata was gone through, to %q", got)
	}
}
