package apiserver

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
)

// A request is sent to both sides. {ns} in it is the section's namespace, {a.rv} the version of the
// answer saved as a.
type request struct {
	method, path, body string
	header             []string
	saveAs             string
}

func get(path string, header ...string) request {
	return request{method: "GET", path: path, header: header}
}

func post(path, body string, header ...string) request {
	return request{method: "POST", path: path, body: body, header: header}
}

func put(path, body string, header ...string) request {
	return request{method: "PUT", path: path, body: body, header: header}
}

func del(path, body string, header ...string) request {
	return request{method: "DELETE", path: path, body: body, header: header}
}

func patch(kind, path, body string, header ...string) request {
	return request{method: "PATCH", path: path, body: body, header: append(header, "Content-Type: application/"+kind)}
}

// as saves version, UID and continue token of the answer.
func (r request) as(name string) request { r.saveAs = name; return r }

// A section is a sequence of requests in a namespace of its own.
type section struct {
	name     string
	requests []request
}

// TestSameAnswers sends every request to both servers.
func TestSameAnswers(t *testing.T) {
	theirs, ours := realSide(t), apitestSide(t)
	page, err := os.ReadFile("../../../apitest/README.md")
	must.OK(t, err)
	var mu sync.Mutex
	sent, equal := 0, 0
	differing := make(map[string]int)
	t.Run("sections", func(t *testing.T) {
		for _, s := range sections() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				c := compareSection(t, ours, theirs.section(s.namespace()), s)
				mu.Lock()
				defer mu.Unlock()
				sent += len(c.theirs)
				equal += c.equal
				for name, n := range c.known { // sums: the order does not matter
					differing[name] += n
				}
			})
		}
	})
	for name := range differing { // each by itself
		if !strings.Contains(string(page), "| "+name+" |") {
			t.Errorf("apitest/README.md has no row for the difference %q", name)
		}
	}
	t.Logf("%d requests, %d answered alike, %d with a known difference", sent, equal, sent-equal)
	if sent < 700 && !t.Failed() {
		t.Errorf("%d requests, want 700 at least", sent)
	}
}

// namespace is that of a section alone.
func (s section) namespace() string {
	return "s-" + strings.ReplaceAll(strings.ToLower(s.name), " ", "-")
}

// all are the requests of a section, which begin with that for its namespace.
func (s section) all() []request {
	return append([]request{post("/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, s.namespace()))}, s.requests...)
}

// An oracle answers as a kube-apiserver does: that server, or what it has answered before.
type oracle interface {
	answer(t *testing.T, r request) (view string)
}

// A comparison is what came of a section.
type comparison struct {
	theirs []string       // the answers of kube-apiserver
	equal  int            // how many were the same
	known  map[string]int // how many differ, by the name of the difference
}

func compareSection(t *testing.T, apitest *side, theirs oracle, s section) comparison {
	t.Helper()
	c := comparison{known: make(map[string]int)}
	ours := apitest.section(s.namespace())
	for _, r := range s.all() {
		var their, our string
		var wg sync.WaitGroup
		wg.Go(func() { their = theirs.answer(t, r) })
		wg.Go(func() { our = ours.answer(t, r) })
		wg.Wait()
		c.theirs = append(c.theirs, their)
		difference := differenceOf(known, s.name, r)
		switch diff := cmp.Diff(their, our); {
		case diff == "" && difference != "":
			t.Errorf("%s %s %s: nothing differs any more; %q is no difference", r.method, r.path, r.body, difference)
		case diff == "":
			c.equal++
		case difference != "":
			c.known[difference]++
		default:
			t.Errorf("%s %s %s %v (-kube-apiserver +apitest):\n%s", r.method, r.path, r.body, r.header, diff)
		}
	}
	return c
}

// answer sends a request, and returns what of the answer is compared.
func (s *side) answer(t *testing.T, r request) string {
	return s.take(t, r, s.send(t, r))
}

// take saves what later requests may name of an answer, and returns what is compared.
func (s *side) take(t *testing.T, r request, a answer) string {
	v, parsed := s.norm.view(a)
	if len(parsed) == 1 && r.saveAs != "" {
		if body, ok := parsed[0].(map[string]any); ok {
			s.save(r.saveAs, body)
		}
	}
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Error(err)
	}
	return string(b)
}
