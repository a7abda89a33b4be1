package apiserver

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A request is sent to both sides. {ns} in it is the section's namespace, {a.rv} the version of the answer saved as a.
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
	page, err := os.ReadFile("../../../docs/apitest.md")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	sent, equal := 0, 0
	differing := make(map[string]int)
	t.Run("sections", func(t *testing.T) {
		for _, s := range sections() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				n, same, known := compareSection(t, ours, theirs, s)
				mu.Lock()
				defer mu.Unlock()
				sent += n
				equal += same
				for name, n := range known { // sums: the order does not matter
					differing[name] += n
				}
			})
		}
	})
	for name := range differing { // each by itself
		if !strings.Contains(string(page), "| "+name+" |") {
			t.Errorf("docs/apitest.md has no row for the difference %q", name)
		}
	}
	t.Logf("%d requests, %d answered alike, %d with a known difference", sent, equal, sent-equal)
	if sent < 700 && !t.Failed() {
		t.Errorf("%d requests, want 700 at least", sent)
	}
}

func compareSection(t *testing.T, ours, theirs *side, s section) (sent, equal int, known map[string]int) {
	t.Helper()
	known = make(map[string]int)
	namespace := "s-" + strings.ReplaceAll(strings.ToLower(s.name), " ", "-")
	sides := []*side{theirs.section(namespace), ours.section(namespace)}
	requests := append([]request{post("/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, namespace))}, s.requests...)
	for _, r := range requests {
		views := make([]string, len(sides))
		var wg sync.WaitGroup
		for i, side := range sides {
			wg.Go(func() {
				v, parsed := side.norm.view(side.send(t, r))
				if len(parsed) == 1 && r.saveAs != "" {
					if body, ok := parsed[0].(map[string]any); ok {
						side.save(r.saveAs, body)
					}
				}
				b, err := json.MarshalIndent(v, "", " ")
				if err != nil {
					t.Error(err)
				}
				views[i] = string(b)
			})
		}
		wg.Wait()
		sent++
		difference := knownDifference(s.name, r)
		switch diff := cmp.Diff(views[0], views[1]); {
		case diff == "" && difference != "":
			t.Errorf("%s %s %s: nothing differs any more; %q is no difference", r.method, r.path, r.body, difference)
		case diff == "":
			equal++
		case difference != "":
			known[difference]++
		default:
			t.Errorf("%s %s %s %v (-kube-apiserver +apitest):\n%s", r.method, r.path, r.body, r.header, diff)
		}
	}
	return sent, equal, known
}
