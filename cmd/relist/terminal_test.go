package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/must"
)

// strange is a name as it may be: of a Role, nothing but "/" and "%" is refused. It would
// change the title of the terminal, clear it, and print a line as this program does; what
// comes last is a control character of one rune, and one that turns text around.
const strange = "x\x1b]0;title\x07\x1b[2J\r\n    0.001s  synced     0 objects at 1 \u009b31m \u202e"

// newStrangeServer has ConfigMaps with that name, as a version and in messages too.
func newStrangeServer(t *testing.T, refuse bool) (url string) {
	t.Helper()
	text, err := json.Marshal(strange)
	must.OK(t, err)
	name := strings.Trim(string(text), `"`)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		object := func(kind string) string {
			return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s%s","namespace":"d","uid":"%s","resourceVersion":"6%s"}}`, name, kind, kind, name)
		}
		switch {
		case r.URL.Path == "/api":
			_, _ = fmt.Fprint(w, `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","resources":[`+
				`{"resource":"configmaps","singularResource":"configmap","scope":"Namespaced","responseKind":{"kind":"ConfigMap"},"verbs":["list","watch"]}]}]}]}`)
		case refuse:
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"%s","message":"no %s","code":403}`, name, name)
		case r.URL.Query().Get("watch") != "":
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", object("2"))
			_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":%s}`+"\n", object("3"))
			_, _ = fmt.Fprintf(w, `{"type":"%s","object":%s}`+"\n", name, object("4"))
			_, _ = fmt.Fprintf(w, `{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"%s","message":"%s","code":500}}`+"\n", name, name)
		default:
			_, _ = fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"5%s"},"items":[%s]}`, name, object("1"))
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// checkTerminal fails the test if an output has what a terminal obeys, or a line that the
// server has made up.
func checkTerminal(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			t.Errorf("%s: %U reaches the terminal:\n%q", what, r, text)
			return
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "    0.001s  synced     0 objects at 1") {
			t.Errorf("%s: the server has printed a line:\n%s", what, text)
		}
	}
}

func TestNothingOfAServerReachesTheTerminalAsItIs(t *testing.T) {
	t.Parallel()
	url := newStrangeServer(t, false)
	for args, last := range map[string]string{ // what comes last, but for what follows from the signal
		"mirror configmaps -A":                                     `\u202e2"`,
		"mirror configmaps -A -o json":                             `\u202e2"`,
		"record configmaps -A -v -o " + t.TempDir() + "/trace.txt": "< raw ",
	} {
		p := start(t, append(strings.Fields(args), "--server", url)...)
		p.await(last)
		if strings.HasPrefix(args, "mirror") {
			p.await("event of the unknown type") // objects and problems come in no order
		}
		r := p.interrupt()
		checkTerminal(t, args, r.stderr)
		checkTerminal(t, args, r.stdout)
		if strings.Contains(args, "json") {
			checkJSON(t, r.stdout)
		}
		if !strings.Contains(r.stdout, `x\x1b]0;title`) && !strings.Contains(r.stdout, `x\u001b]0;title`) {
			t.Errorf("%s: the name cannot be read:\n%s\n%s", args, r.stdout, r.stderr)
		}
	}
	refusing := newStrangeServer(t, true)
	for _, args := range []string{"mirror configmaps -A", "record configmaps -A -v -o " + t.TempDir() + "/trace.txt"} {
		p := start(t, append(strings.Fields(args), "--server", refusing)...)
		if strings.HasPrefix(args, "record") { // it goes on
			p.await("< 403")
			p.cancel()
		}
		r := p.wait()
		checkTerminal(t, args, r.stdout)
		checkTerminal(t, args, r.stderr)
		if strings.HasPrefix(args, "mirror") && (r.status != cli.ExitError || !strings.Contains(r.stderr, strconv.Quote("\x1b")[1:5])) {
			t.Errorf("%s: status %d, %s", args, r.status, r.stderr)
		}
	}
}

// checkJSON wants lines of JSON with the name that the server has sent.
func checkJSON(t *testing.T, text string) {
	t.Helper()
	found := false
	for line := range strings.Lines(text) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		found = found || fields["key"] == "d/"+strange+"1"
	}
	if !found {
		t.Errorf("the name is not in %s", text)
	}
}
