package apiserver

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/mutants"
)

// A plant is an error in what apitest shares with the client and with the relay: the tree that
// holds objects, the order of versions, the selectors, and the watch cache.
type plant struct {
	what  string
	dir   string
	edits []mutants.Edit
}

func planted(what, dir, old, by string) plant {
	return plant{what, dir, []mutants.Edit{{Old: old, By: by}}}
}

const (
	store      = "store"
	watchcache = "server/watchcache"
)

// plants are found by the answers of kube-apiserver.
var plants = []plant{
	// The tree.
	planted("a merged node lacks the entries of the right one", store, "\tleft.cells = append(left.cells, right.cells...)\n", ""),
	planted("a key that is the first of a node is looked for in the node before", store, "if n.keys[mid] <= key {", "if n.keys[mid] < key {"),
	planted("a range of keys ends with its first node", store, "(i == 0 || n.keys[i] < to)", "(i == 0 || n.keys[i] <= from)"),
	planted("a node that is full loses its last entry", store, "right.cells, n.cells = slices.Clone(n.cells[half:]), truncate(n.cells, half)",
		"right.cells, n.cells = slices.Clone(n.cells[half:]), truncate(n.cells, max(half-1, 1))"),
	planted("a key of a tree is the name alone", "object", "\treturn namespace + \"/\" + name\n", "\treturn name\n"),

	// The order of versions.
	planted("an older state is taken for the newer one", watchcache, "before.Version() >= o.Version()", "before.Version() <= o.Version()"),
	planted("a watch begins with the change of its version", watchcache, "w.changes, version+1, func", "w.changes, version, func"),
	planted("a version of the future is answered with the present", watchcache, "switch needed := max(version, c.ahead); {", "switch needed := c.ahead; {"),
	planted("a state of the past has the last of several states before", watchcache, "range slices.Backward(c.window.after(version))", "range c.window.after(version)"),
	planted("a state of the past has the objects that are new", watchcache, "o, old = s.before[key], old[1:]", "old = old[1:]"),
	planted("a state of the past lacks what was deleted later, at its end", watchcache, "\t\tearlier(end)\n\t}\n", "\t}\n"),

	// Pages.
	planted("a page begins with the last object of the one before", watchcache, `object.Key(p.Objects[limit-1]) + "\x00"`, "object.Key(p.Objects[limit-1])"),
	planted("the pages of a list are of the present", watchcache, "return c.exact(ctx, q.Selection, token.Start, token.Version, limit)",
		"return c.ListAt(q.Selection, token.Start, c.Version(), limit)"),
	planted("a list from the cache obeys a limit", watchcache, "\t\tlimit = 0 // kube-apiserver ignores the limit of a list from its cache\n", ""),

	// The selectors.
	planted("a namespace has the objects of those whose names begin with its name", watchcache, "\treturn s.Namespace + \"/\"\n", "\treturn s.Namespace\n"),
	planted("a watch begins with objects that it does not select", watchcache, ".page(q.Selection, \"\", 0)", ".page(Selection{Namespace: q.Namespace}, \"\", 0)"),
	planted("an object that enters a selection is MODIFIED", watchcache, "return Event{Added, c.after, &c.frames}, true", "return Event{Modified, c.after, &c.frames}, true"),
	planted("an object that leaves a selection is not told", watchcache, "\tcase before:\n\t\treturn Event{Deleted, c.before.At(c.version), &c.frames}, true\n", ""),
	planted("an object that leaves a selection is told as it is now", watchcache, "Event{Deleted, c.before.At(c.version), &c.frames}", "Event{Deleted, c.after, &c.frames}"),
	planted("a deletion has the version of the last state", watchcache, "\tcase before && c.deleted:\n\t\treturn Event{Deleted, c.after, &c.frames}, true",
		"\tcase before && c.deleted:\n\t\treturn Event{Deleted, c.before, &c.frames}, true"),
	planted("a list with selectors says how many objects remain", watchcache, "if remaining++; !sel.Everything() {\n\t\t\t\treturn p\n\t\t\t}", "remaining++"),
}

// Each plant quotes the source as it stands. To look takes a second; to run them takes minutes.
func TestQuotes(t *testing.T) {
	for _, p := range plants {
		t.Run(strings.ReplaceAll(p.what, " ", "-"), func(t *testing.T) { mutants.Overlay(t, p.dir, p.edits...) })
	}
}

var recorded = flag.String("recorded", "", "a file with answers of kube-apiserver, which TestPlants compares with those of apitest")

// answers are what kube-apiserver has answered, by section.
type answers map[string][]string

// A recording answers as kube-apiserver has answered.
type recording struct{ rest []string }

func (a *recording) answer(*testing.T, request) (view string) {
	view, a.rest = a.rest[0], a.rest[1:]
	return view
}

// discerning are the sections that find the plants.
func discerning() []section {
	return slices.DeleteFunc(sections(), func(s section) bool { return s.name != "past of configmaps" && s.name != "many objects" })
}

// compareRecorded compares apitest with recorded answers: a part of TestSameAnswers, without a
// kube-apiserver.
func compareRecorded(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	must.OK(t, err)
	var all answers
	must.OK(t, json.Unmarshal(text, &all))
	ours := apitestSide(t)
	for _, s := range discerning() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			compareSection(t, ours, &recording{all[s.name]}, s)
		})
	}
}

// Each plant makes an answer differ from that of kube-apiserver, which is asked once. The test runs
// itself again for each plant, with the answers.
func TestPlants(t *testing.T) {
	if *recorded != "" {
		compareRecorded(t, *recorded)
		return
	}
	ours, theirs := apitestSide(t), realSide(t)
	all := make(answers)
	for _, s := range discerning() {
		all[s.name] = compareSection(t, ours, theirs.section(s.namespace()), s).theirs
	}
	text, err := json.Marshal(all)
	must.OK(t, err)
	file := filepath.Join(t.TempDir(), "answers.json")
	must.OK(t, os.WriteFile(file, text, 0o600))
	if out, failed := withOverlay(t, file, ""); failed {
		t.Fatalf("without a plant:\n%s", out)
	}
	t.Run("plants", func(t *testing.T) {
		for _, p := range plants {
			t.Run(strings.ReplaceAll(p.what, " ", "-"), func(t *testing.T) {
				t.Parallel() // most of the time is the linker's
				out, failed := withOverlay(t, file, mutants.Overlay(t, p.dir, p.edits...))
				if !failed || !strings.Contains(out, "--- FAIL: TestPlants") && !strings.Contains(out, "panic: ") {
					t.Errorf("no answer differs:\n%s", out)
				}
			})
		}
	})
}

// withOverlay runs TestPlants with recorded answers, and with an overlay, if there is one.
func withOverlay(t *testing.T, file, overlay string) (out string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-run=^TestPlants$", "-overlay="+overlay, ".", "-recorded="+file)
	text, err := cmd.CombinedOutput()
	return string(text), err != nil
}
