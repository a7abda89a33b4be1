package record

import "testing"

// The identity of an object is enough in a trace, unless the client cannot decode the object.
func TestCanBeDecoded(t *testing.T) {
	for _, tt := range []struct {
		kind, object string
		want         bool
	}{
		{"ConfigMap", `{"metadata":{"name":"a"},"data":{"k":"v"}}`, true},
		{"ConfigMap", `{"metadata":{"name":"a"},"data":null}`, true},
		{"ConfigMap", `{"metadata":{"name":"a"},"data":{"k":5}}`, false},
		{"Widget", `{"metadata":{"name":"a"},"data":{"k":5}}`, true},
		{"Widget", `{"metadata":{"name":"a","labels":{"l":5}}}`, false},
		{"Widget", `{"kind":5,"metadata":{"name":"a"}}`, false},
	} {
		if got := (&reducer{kind: tt.kind}).canBeDecoded([]byte(tt.object)); got != tt.want {
			t.Errorf("%s %s: %t, want %t", tt.kind, tt.object, got, tt.want)
		}
	}
}

// A list with a limit of 2 is a request for one object if it names the object, and has neither a
// version nor a token.
func TestIsForOne(t *testing.T) {
	const one = "/api/v1/configmaps?fieldSelector=metadata.namespace%3Da%2Cmetadata.name%3Db&limit=2"
	for target, want := range map[string]bool{
		one: true,
		"/api/v1/nodes?fieldSelector=metadata.name%3Db&limit=2": true,
		one + "&resourceVersion=0":                              false,
		one + "&continue=t":                                     false,
		one + "0":                                               false,
		"/api/v1/configmaps?limit=2":                            false,
	} {
		if got := isForOne(target); got != want {
			t.Errorf("%s: %t, want %t", target, got, want)
		}
	}
}
