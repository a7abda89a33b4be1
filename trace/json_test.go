package trace

import (
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// What the server sends is fixed to the byte, because split=N counts bytes.
func TestWire(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{
			`ADDED a@90`,
			`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1",` +
				`"metadata":{"name":"a","namespace":"default","uid":"uid-a","resourceVersion":"90"}}}` + "\n",
		},
		{
			`MODIFIED ns/a@ uid=x {"data":{"b": 1e3, "a":[ 2, {"z":1, "b":2} ]},"apiVersion":"v2","metadata":{"labels":{"l":"€"},"uid":null}}`,
			`{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v2",` +
				`"metadata":{"name":"a","namespace":"ns","labels":{"l":"€"}},"data":{"a":[2,{"z":1,"b":2}],"b":1e3}}}` + "\n",
		},
		{
			`BOOKMARK @7 {"metadata":{"annotations":{"k":"v"}}}`,
			`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","annotations":{"k":"v"}}}}` + "\n",
		},
		{`DELETED /a@7`, `{"type":"DELETED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"uid-a","resourceVersion":"7"}}}` + "\n"},
		{`BOOKMARK @`, `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}}` + "\n"},
		{
			`ERROR 410 Expired "too \"old\""`,
			`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
				`"message":"too \"old\"","reason":"Expired","code":410}}` + "\n",
		},
		{`raw "\x00\n"`, "\x00\n"},
		{"raw `\\x00`", `\x00`},
	} {
		s, err := parseAnswer(test.line, configMaps)
		if err != nil {
			t.Errorf("%s: %v", test.line, err)
			continue
		}
		if got := string(s.(*chunk).data); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.line, got, test.want)
		}
	}
}

func TestWireResponses(t *testing.T) {
	s, err := parseAnswer(`503 - "down" retry-after="soon, or not" {"details":{"retryAfterSeconds":7}}`, configMaps)
	must.OK(t, err)
	want := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"down","details":{"retryAfterSeconds":7},"code":503}` + "\n"
	if r := s.(*reply); string(r.body) != want || r.code != 503 || r.retryAfter != "soon, or not" {
		t.Errorf("got %d, %q, %s", r.code, r.retryAfter, r.body)
	}

	f, err := Parse("f.txt", []byte("< 200 list rv=9 continue=t {\"metadata\":{\"remainingItemCount\":3}}\n\ta@1\n\tb@2 {\"kind\":\"K\"}\n"))
	must.OK(t, err)
	l := f.lines[0].stimulus.(*list)
	body, err := listOf(l.of, l.version, l.token, l.items, l.words.json)
	must.OK(t, err)
	want = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"t","remainingItemCount":3},` +
		`"items":[{"metadata":{"name":"a","namespace":"default","uid":"uid-a","resourceVersion":"1"}},` +
		`{"kind":"K","metadata":{"name":"b","namespace":"default","uid":"uid-b","resourceVersion":"2"}}]}`
	if got := string(body.encode()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
