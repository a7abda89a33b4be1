package record

import (
	"slices"
	"testing"

	"github.com/relist-go/relist/trace"
)

// Every line is one of the language, whatever is in it.
func TestLines(t *testing.T) {
	for want, what := range map[string]said{
		`< 200 list rv=7 continue="a b"`:                      &list{version: "7", token: "a b"},
		`< 410 Expired "too \"old\""`:                         &status{code: 410, reason: "Expired", message: `too "old"`},
		`< ERROR 500 - ""`:                                    &status{event: true, code: 500},
		`< 200 body "text/html" "<p>\n"`:                      &whole{code: 200, contentType: "text/html", body: []byte("<p>\n")},
		`< ADDED "a=b@1" uid="x y"`:                           &event{typ: "ADDED", object: object{namespace: "default", name: "a=b", version: "1", uid: "x y"}},
		`< ADDED /a@1 split=1,30`:                             &event{typ: "ADDED", object: object{name: "a", version: "1"}, split: []float64{0, 0.001, 0.5}, text: true},
		`< MODIFIED ns/a@ split=2,32,56`:                      &event{typ: "MODIFIED", object: object{namespace: "ns", name: "a"}, split: []float64{0.02, 0.1, 0.2, 0.52, 0.6, 0.7, 0.93}, text: true},
		`< BOOKMARK @ {"metadata":{"annotations":{"k":"v"}}}`: &bookmark{extra: []byte(`{"metadata":{"annotations":{"k":"v"}}}`)},
		"< raw `{\"a\":1}`":                                   &raw{data: []byte(`{"a":1}`)},
		`< raw "\xff\n"`:                                      &raw{data: []byte("\xff\n")},
		`< ADDED /a@1 split=1,15`:                             &event{typ: "ADDED", object: object{name: "a", version: "1"}, split: []float64{0, 0.001, 0.5}},
		`< wire "HTTP\xff"`:                                   &wire{data: []byte("HTTP\xff")},
		`< 101`:                                               head{socket: true},
		`< close 1000`:                                        &closing{code: 1000},
		`< close 1001 "going away"`:                           &closing{code: 1001, reason: "going away"},
		`< cut`:                                               cut,
	} {
		got := what.lines()
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
		if _, err := trace.Parse("line", []byte(want+"\n")); err != nil {
			t.Error(err)
		}
	}
}
