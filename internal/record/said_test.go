package record

import (
	"slices"
	"testing"

	"github.com/relist-go/relist/trace"
)

// Every line is one of the language, whatever is in it.
func TestLines(t *testing.T) {
	for want, what := range map[string]said{
		`< 200 list rv=7 continue="a b"`:     &list{version: "7", token: "a b"},
		`< 410 Expired "too \"old\""`:        &status{code: 410, reason: "Expired", message: `too "old"`},
		`< ERROR 500 - ""`:                   &status{event: true, code: 500},
		`< 200 body "text/html" "(3 bytes)"`: &whole{code: 200, contentType: "text/html", size: 3},
		`< ADDED "a=b@1" uid="x y"`:          &event{typ: "ADDED", object: object{namespace: "default", name: "a=b", version: "1", uid: "x y"}},
		`< BOOKMARK @ {"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}`:                       &bookmark{end: true},
		`< 504 Timeout "" {"details":{"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1}}`: &status{code: 504, reason: "Timeout", retryAfter: 1, causes: []string{"ResourceVersionTooLarge"}},
		`< 410 Expired "" {"metadata":{"continue":"c"}}`:                                                       &status{code: 410, reason: "Expired", token: "c"},
		`< DELETED a@1 {"kind":"Other","metadata":{"labels":"unreadable","uid":null}}`:                         &event{typ: "DELETED", object: object{namespace: "default", name: "a", version: "1", undecodable: true, foreign: true}},
		"< raw `{\"a\":1}`": raw(`{"a":1}`),
		`< 200 watch`:       begun,
		`< cut`:             cut,
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
