package apitest

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
)

// TestCaptures puts the server into the state in which a kube-apiserver 1.36 was when it gave each
// answer in testdata, sends the same request, and compares status, headers and every byte of the
// body, but for managedFields.
func TestCaptures(t *testing.T) {
	// What was done to the captured server, by the version at which each capture was taken.
	live := func(c *captured) {
		c.burn(40496)
		c.set("a", "2")
		c.set("a", "3")
		c.remove("e") // 40499
		c.add("f", "2026-11-20T11:29:42Z", map[string]any{"x": "y"})
	}
	later := func(c *captured) {
		live(c)
		c.burn(40513)
		c.set("b", "2")
		c.set("b", "3")
		c.burn(40520)
	}
	at := func(rv uint64) func(*captured) { return func(c *captured) { c.burn(rv) } }
	for _, tt := range []struct {
		name   string
		opts   Options
		before func(*captured)
		during func(*captured) // while the watch is open
	}{
		{name: "discovery-api"},
		{name: "list-bad-continue"},
		{name: "list-continue-expired", before: func(c *captured) { c.burn(40514); c.Compact() }},
		{name: "list-exact", before: at(40490)},
		{name: "list-exact-compacted", before: func(c *captured) { c.burn(40520); c.Compact() }},
		{name: "list-invalid-rv"},
		{name: "list-metadata", before: at(40491)},
		{name: "list-not-found"},
		{name: "list-page1", before: at(40488)},
		{name: "list-page2", before: func(c *captured) { c.burn(40488); c.remove("c") }},
		{name: "list-rv-old", before: later},
		{name: "list-rv-too-large", before: at(40490)},
		{name: "list-rv0", before: at(40478)},
		{name: "watch-initial-events", before: at(40490)},
		{name: "watch-initial-events-invalid"},
		{name: "watch-invalid-rv"},
		{name: "watch-live", before: at(40495), during: func(c *captured) {
			c.burn(40496)
			c.set("a", "2")
			synctest.Wait()
			c.set("a", "3")
			pass(1500 * time.Millisecond) // past the bookmark, two seconds before the timeout
			c.remove("e")
			synctest.Wait()
			c.add("f", "2026-11-20T11:29:42Z", map[string]any{"x": "y"})
		}},
		{name: "watch-metadata", before: live},
		{name: "watch-rv-too-large"},
		{name: "watch-rv-too-old", before: func(c *captured) { c.burn(40520); c.Compact() }},
		{name: "watch-selector-initial", before: live},
		{name: "watch-selector-leave", before: live, during: func(c *captured) {
			c.burn(40525)
			c.label("f", nil)
			synctest.Wait()
			c.label("f", map[string]any{"x": "y"})
		}},
		{name: "watch-unauthorized", opts: Options{Token: "right"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := readCapture(t, filepath.Join("testdata", tt.name+".http"))
				tt.opts.ResourceVersion = 40470
				c := &captured{serve(t, tt.opts)}
				for _, name := range []string{"a", "b", "c", "d", "e"} {
					c.add(name, "2026-11-20T11:28:31Z", nil)
				}
				if tt.before != nil {
					tt.before(c)
				}
				if tt.during != nil {
					go func() {
						pass(500 * time.Millisecond)
						tt.during(c)
					}()
				}
				got := c.get(want.path, want.asked...)
				if got.err != nil || got.code != want.code {
					t.Errorf("status %d (%v), want %d", got.code, got.err, want.code)
				}
				for _, h := range []string{"Content-Type", "Cache-Control", "Retry-After", "X-Content-Type-Options"} {
					if got, want := got.header.Get(h), want.header.Get(h); got != want {
						t.Errorf("%s: %q, want %q", h, got, want)
					}
				}
				if diff := cmp.Diff(strings.Split(want.body, "\n"), strings.Split(quotedByte.ReplaceAllString(got.body, `\\u00$1`), "\n")); diff != "" {
					t.Errorf("body (-kube-apiserver +apitest):\n%s", diff)
				}
			})
		})
	}
}

// quotedByte is how encoding/json quotes a byte that is no character: as \x81 from Go 1.27 on, and
// as \u0081 before, as the server that was captured did.
var quotedByte = regexp.MustCompile(`\\\\x([0-9a-f]{2})`)

// captured is a server with the objects of the captures.
type captured struct{ *fixture }

var capturedUIDs = map[string]string{
	"a": "2c885cd8-9f50-4d49-a9c1-17ecd9cd89b3",
	"b": "eceabd32-0109-48fb-9ac8-a1a97a3a3342",
	"c": "bafd5088-e19f-4b59-822d-d11393fd3cfb",
	"d": "3c41c9ca-5471-404c-ba3f-5942c790f81b",
	"e": "4f9ccf4e-7527-4ece-8312-9fb2d5d94f6c",
	"f": "6c50f95a-25b0-4c7e-97db-2d3698fb1dd1",
}

func (c *captured) add(name, created string, labels map[string]any) {
	obj := configMap("trace", name, "v", "1")
	meta := metadataOf(obj)
	meta["uid"], meta["creationTimestamp"] = capturedUIDs[name], created
	meta["labels"] = labels
	must.Get[string](c.T)(c.Create("configmaps", obj))
}

func (c *captured) set(name, v string) {
	must.Get[string](c.T)(c.Patch("configmaps", "trace", name, map[string]any{"data": map[string]any{"v": v}}))
}

func (c *captured) label(name string, labels any) {
	must.Get[string](c.T)(c.Patch("configmaps", "trace", name, map[string]any{"metadata": map[string]any{"labels": labels}}))
}

func (c *captured) remove(name string) {
	must.Get[string](c.T)(c.Delete("configmaps", "trace", name))
}

// burn raises the counter by changes of another type.
func (c *captured) burn(rv uint64) {
	for c.ResourceVersion() != strconv.FormatUint(rv, 10) {
		must.Get[string](c.T)(c.Create("secrets", map[string]any{"metadata": map[string]any{"generateName": "burn-", "namespace": "trace"}}))
	}
}

type capture struct {
	path   string
	asked  []string // the headers of the request
	code   int
	header http.Header // of the response
	body   string
}

// managedFields holds no lists, so that the first "}]" is its end.
var managedFields = regexp.MustCompile(`,"managedFields":\[.*?\}\]`)

func readCapture(t *testing.T, name string) capture {
	t.Helper()
	data := must.Get[[]byte](t)(os.ReadFile(name))
	head, rest, _ := bytes.Cut(data, []byte("\n\n"))
	var c capture
	for line := range strings.Lines(string(head)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "> ")
		if get, ok := strings.CutPrefix(line, "GET "); ok {
			c.path, _, _ = strings.Cut(get, " ") // a remark in brackets may follow
			continue
		}
		c.asked = append(c.asked, line)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(rest)), nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body := must.Get[[]byte](t)(io.ReadAll(resp.Body))
	c.code, c.header = resp.StatusCode, resp.Header
	c.body = managedFields.ReplaceAllString(string(body), "")
	return c
}
