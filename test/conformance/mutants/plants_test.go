package mutants

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// plant is a defect that the protocol once had, put back into it. The explorer of that package has
// to find it, and prints the shortest way to it as a golden trace.
type plant struct {
	what   string
	edits  []edit
	search string // of the explorer, the one that is about this
}

var plants = []plant{
	{
		what: "an event without a readable name is dropped, and the resume version moves on",
		edits: one("m.quarantine.put(now, m.resume, item, item.Err, unusable)\n\t\tm.history.passed()\n",
			"m.history.passed()\n"),
		search: "nameless",
	},
	{
		what:   "a list with an item that cannot be named deletes by inference",
		edits:  one("KeepUnlisted: m.keepsUnlisted(sum)}", "KeepUnlisted: false}"),
		search: "nameless",
	},
	{
		what:   "the answer to a refetch raises no refetch version, so events that it has overtaken are applied",
		edits:  one("\tq.versions[key] = version\n", "\n"),
		search: "quarantine",
	},
	{
		what: "the end of an object that left the selector counts as overtaken by the answer to a refetch",
		edits: one("\tcase m.quarantine.refetched(item.Meta),\n",
			"\tcase m.quarantine.refetched(item.Meta), e.Type == object.Deleted && m.quarantine.versions[item.Meta.Key] != \"\",\n"),
		search: "quarantine and leaving the selector",
	},
	{
		what: "an answer is thrown away where the version that is held is not known to be older",
		edits: one("case same && item.Held.ResourceVersion == item.Meta.ResourceVersion:",
			"case same && !object.Older(item.Held.ResourceVersion, item.Meta.ResourceVersion):"),
		search: "versions cleared",
	},
	{
		what:   "an ADDED that is older than the resume version is dropped",
		edits:  one("\t\tm.quarantine.put(now, m.resume, item, errLate, outOfOrder)\n", "\n"),
		search: "late",
	},
	{
		what: "another server is suspected behind a refused connection only",
		edits: []edit{
			{"case Unreachable, Unavailable, IdleTimeout, TimedOut:\n\t\treturn true", "case Unreachable:\n\t\treturn true"},
			{"return p.timeout == 0 || p.alive(now) < p.timeout-margin", "return false"},
		},
		search: "restored",
	},
	{
		what:   "a connection that was made after a list is no sign of another server",
		edits:  one("\t\tif reconnected {\n", "\t\tif false {\n"),
		search: "restored",
	},
	{
		what:   "what is absent and held is no sign of another history",
		edits:  one("case q.Key == \"\", len(items) == 0 && q.gone:", "case q.Key == \"\", len(items) == 0:"),
		search: "restored",
	},
}

// Each plant is found by the explorer.
func TestPlants(t *testing.T) {
	for _, p := range plants {
		t.Run(strings.ReplaceAll(p.what, " ", "-"), func(t *testing.T) {
			out, failed := explore(t, Overlay(t, protocol, p.edits...), p.search)
			begin := strings.Index(out, "\n# ")
			if !failed || begin < 0 || !strings.Contains(out, "\nstart\n") {
				t.Fatalf("the search %q does not find it:\n%s", p.search, out)
			}
			t.Logf("the shortest way to it:%s", out[begin:])
		})
	}
}

// explore runs one search of the explorer over a plant, and returns what it printed without the
// indentation of a test.
func explore(t *testing.T, overlay, search string) (out string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	name := "^TestExplore$/^" + strings.ReplaceAll(search, " ", "_") + "$"
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-run="+name, "-overlay="+overlay, "./"+protocol)
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimLeft(line, " "))
	}
	return strings.Join(lines, ""), err != nil
}
