package json

import (
	"testing"
)

const objectJSON = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5"},"data":{"k":"v"}}`

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
