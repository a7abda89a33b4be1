package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

const smallest = "examples/smallest"

// ofSmallest leave a rule of the smallest client out, each one, in the order of its file.
var ofSmallest = []mutation{
	{"delay as after an answer where a connection was refused", smallest, one("if isRefused {", "if false {"), "backoff-refused"},
	{"watch again at a version that the server does not have", smallest, one("case noSuchVersion(err) && r.listed:", "case false:"), "expired-status-forms"},
	{"delay the list after an outage", smallest, one("if r.outage {", "if false {"), "incident-tombstone"},
	{"insist on a version", smallest, one("case noSuchVersion(err) && !r.mostRecent:", "case false:"), "too-large"},
	{"ask for the version again when the list was refused", smallest, one("r.mostRecent = true // which is never", "// which is never"), "expired"},
	{"report no list that failed", smallest, one(`r.Problem("list", "", err)`, ""), "list-denied"},
	{"watch for ever where each watch is empty", smallest, one("r.failures += 2", ""), "empty-streams"},
	{"list when nobody is behind a proxy", smallest, one("case isRefused, c == 429, c == 502, c == 503, c == 504:", "case isRefused:"), "watch-unavailable"},
	{"list when a role was taken away", smallest, one("case c == 401, c == 403, c == 404:", "case false:"), "watch-denied"},
	{"watch for ever where each watch fails", smallest, one("\t\tr.failures++\n", ""), "watch-failing"},
	{"never delay longer", smallest, one("*place++", ""), "list-backoff"},
	{"delay without a random part", smallest, one("r.Rand()*max(least, spread)", "0*max(least, spread)"), "random"},
	{"do not obey Retry-After", smallest, one("float64(min(after, 3600))", "0*float64(min(after, 3600))"), "retry-after-on-watch"},
	{"obey any Retry-After", smallest, one("min(after, 3600)", "after"), "retry-after-too-long"},
	{"begin with the most recent state", smallest, one(`cmp.Or(r.version, "0")`, "r.version"), "first-list"},
	{"list any state again", smallest, one(`cmp.Or(r.version, "0")`, `"0"`), "relist"},
	{"take a list that goes back", smallest, one("if object.Older(at, r.version) {", "if false {"), "list-goes-back"},
	{"ask twice for a list that brings nothing new", smallest, one("r.mostRecent = at == r.version", "r.mostRecent = false"), "relist-brings-nothing-new"},
	{"count failures before a list", smallest, one("r.failures, r.outage = at, true, 0, false", "r.outage = at, true, false"), "list-clears-failures"},
	{"take each 410 for one after an outage", smallest, one("r.failures, r.outage = at, true, 0, false", "r.failures = at, true, 0"), "list-clears-failures"},
	{"list in pages at a version", smallest, one(`limit = "" //`, "_ = limit //"), "relist"},
	{"list whole where there is no watch cache", smallest, one(`r.paged || first == "0"`, "r.paged"), "paged-for-good"},
	{"begin a list that expired with its first page", smallest, one(`items, first, token, limit = nil, version, "", ""`, `items, first, token = nil, version, ""`), "continue-expired"},
	{"keep the pages of a list that expired", smallest, one(`items, first, token, limit = nil, version, "", ""`, `first, token, limit = version, "", ""`), "continue-expired"},
	{"take a list with an item that is null for an empty one", smallest, one(`"", errors.New("a list with an item that is null")`, "page.ResourceVersion, nil"), "list-null-item"},
	{"take whatever has a version for a list", smallest, one(`!strings.HasSuffix(page.Kind, "List"), `, ""), "list-table"},
	{"take a list without a version", smallest, one(`page.ResourceVersion == "", `, ""), "list-without-version"},
	{"follow a page that continues at itself", smallest, one(`, token != "" && token == page.Continue`, ""), "continue-repeats"},
	{"keep the version beside the token", smallest, one(`first = "" `, "_ = first "), "pages"},
	{"end all watches together", smallest, one("int(300*r.Rand())", "0"), "random"},
	{"let a server forget the timeout", smallest, one("timeout+10", "timeout+1000"), "watch-outlives-its-timeout"},
	{"ask for no bookmarks", smallest, one(`"allowWatchBookmarks": {"true"}, `, ""), "first-list"},
	{"wait for a watch that is dead", smallest, one("90*time.Second", "time.Hour"), "bookmarks-stop"},
	{"wait for a list that does not come", smallest, one("2*time.Minute", "time.Hour"), "list-unanswered"},
	{"take a late refusal for the end of a good watch", smallest, one("open && time", "(open || true) && time"), "watch-unavailable-slowly"},
	{"keep delays after a good watch", smallest, one("r.afterAnswer, r.afterRefusal, r.failures, r.outage = 0, 0, 0, false", "r.failures, r.outage = 0, false"), "list-backoff"},
	{"count failures before a good watch", smallest, one("r.afterRefusal, r.failures, r.outage = 0, 0, 0, false", "r.afterRefusal, r.outage = 0, 0, false"), "watch-failing-now-and-then"},
	{"take a 410 after a good watch for one after an outage", smallest, one("r.afterRefusal, r.failures, r.outage = 0, 0, 0, false", "r.afterRefusal, r.failures = 0, 0, 0"), "outage-ends-with-a-healthy-watch"},
	{"delay after each end", smallest, one("(healthy || progress", "(progress"), "backoff-refused"},
	{"delay after the first short watch", smallest, one("progress && !r.reopened", "progress && r.reopened"), "expired"},
	{"delay after no short watch", smallest, one("progress && !r.reopened", "progress"), "short-streams-bookmarks"},
	{"delay after a short watch that follows a good one with another end", smallest, one("\t\tr.reopened = false\n", ""), "short-streams-after-an-error"},
	{"delay after the first short watch that follows a good one", smallest, one("r.reopened = !healthy", "r.reopened = true"), "short-streams-bookmarks"},
	{"take garbage for an end", smallest, one("errors.As(err, new(*json.SyntaxError))", "false"), "stream-garbage"},
	{"take JSON that is no event for an end", smallest, one(" || errors.As(err, new(*json.UnmarshalTypeError))", ""), "stream-no-event"},
	{"take an ERROR for an object", smallest, one(`case event == "ERROR":`, "case false:"), "expired"},
	{"do not know bookmarks", smallest, one(`, event == "BOOKMARK":`, ":"), "bookmarks"},
	{"miss that an object was made again", smallest, one("object.DifferentUID(held.UID, obj.UID):", "held.UID == \"\":"), "event-of-another-object"},
	{"pass over events of unknown types", smallest, one("\tdefault:\n\t\terr = fmt", "\tdefault:\n\t\t_ = fmt"), "event-unknown-type"},
	{"resume at a version that is none", smallest, one("case object.IsAnyVersion(v), ", "case "), "version-opaque-missing"},
	{"go back to an earlier version", smallest, one(", object.IsComparable(r.version) && object.Newer(r.version, v) != v:", ":"), "strange-versions"},
	{"follow only versions that are numbers", smallest, one("object.IsComparable(r.version) && ", ""), "version-opaque"},
	{"resume where the watch began", smallest, one("r.version, r.failures = v, 0", "r.failures = 0"), "watch-cut"},
	{"count failures before an event", smallest, one("r.version, r.failures = v, 0", "r.version = v"), "watch-error-event"},
	{"ask for any encoding", smallest, one(`req.Header.Set("Accept", "application/json")`, ""), "headers"},
	{"give up a list that is slow", smallest, one("idle.Reset(patience)", ""), "slow-list"},
	{"do not read a Status", smallest, one("text, _ := io.ReadAll(body)", "text := []byte{}"), "too-large"},
	{"do not recognise 410", smallest, one("code(err) == 410 || ", ""), "expired"},
	{"do not recognise a version that is too large", smallest, one(` || code(err) == 504 && strings.Contains(err.Error(), "Too large resource version")`, ""), "too-large"},
	{"take each 504 for a version that is too large", smallest, one(` && strings.Contains(err.Error(), "Too large resource version")`, ""), "timeout-is-not-too-large"},
	{"do not compare lists with what is held", smallest, one("Known: held, ", ""), "incident-tombstone"},
}

// declared finds the names of a file at its top level.
var declared = regexp.MustCompile(`(?m)^(?:type|var|func) (\w+)`)

// Each rule of the smallest client is noticed by the trace that is about it. All mutants are in one
// package, with numbers behind their names, because to compile each alone takes a minute. The last
// one is a copy that leaves nothing out, which no trace may notice.
func TestSmallest(t *testing.T) {
	dir, overlay := t.TempDir(), map[string]string{}
	put := func(text string) {
		name := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay)))
		place, err := filepath.Abs(filepath.Join(root, smallest, "mutants", filepath.Base(name)))
		must.OK(t, errors.Join(err, os.WriteFile(name, []byte(text), 0o666)))
		overlay[place] = name
	}
	plays, control := "", len(ofSmallest)
	_, client := source(t, smallest, "func (r *Reflector) Run(")
	_, program := source(t, smallest, "func Program(")
	names := declared.FindAllStringSubmatch(client+program, -1)
	for i, m := range slices.Concat(ofSmallest, []mutation{{edits: one("", ""), trace: "first-list"}}) {
		for _, text := range []string{client, program} {
			text = strings.Replace(text, m.edits[0].Old, m.edits[0].By, 1)
			text = strings.Replace(text, "package smallest\n", "package main\n\nimport \"github.com/relist-go/relist/"+smallest+"\"\n", 1)
			text = regexp.MustCompile(`([*&])Object\b`).ReplaceAllString(text, "${1}smallest.Object")
			for _, name := range names {
				text = regexp.MustCompile(`([^.\w"])`+name[1]+`\b`).ReplaceAllString(text, fmt.Sprintf("${1}%s%d", name[1], i))
			}
			put(text)
		}
		plays += fmt.Sprintf("\tplay(%d, Program%[1]d, %q)\n\tplay(%[3]d, Program%[3]d, %[2]q)\n", i, m.trace, control)
	}
	put("package main\n\nimport (\n\t\"bytes\"\n\t\"fmt\"\n\t\"os\"\n\n\t\"github.com/relist-go/relist/examples/smallest\"\n\t\"github.com/relist-go/relist/trace\"\n)\n\nfunc main() {\n" + plays + `}

func play(i int, program trace.Program, name string) {
	src, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		panic(err)
	}
	f, err := trace.Parse(name, src)
	if err != nil {
		panic(err)
	}
	is, _ := trace.Replay(f, program, nil)
	if was, _ := trace.Replay(f, smallest.Program, nil); !bytes.Equal(is, was) {
		fmt.Println(i)
	}
}
`)
	spec, err := json.Marshal(map[string]any{"Replace": overlay})
	name := filepath.Join(dir, "overlay.json")
	must.OK(t, errors.Join(err, os.WriteFile(name, spec, 0o666)))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	program = filepath.Join(dir, "mutants")
	build := exec.CommandContext(ctx, "go", "build", "-gcflags=-l -N", "-overlay="+name, "-o", program, "./"+smallest+"/mutants")
	play := exec.CommandContext(ctx, program) // not by go run, whose child ctx does not kill
	build.Dir, play.Dir, build.Stderr, play.Stderr = root, root, os.Stderr, os.Stderr
	must.OK(t, build.Run())
	out, err := play.Output()
	must.OK(t, err)
	noticed := strings.Fields(string(out))
	if slices.Contains(noticed, fmt.Sprint(control)) {
		t.Error("a trace notices the copy that leaves nothing out")
	}
	for i, m := range ofSmallest {
		if !slices.Contains(noticed, fmt.Sprint(i)) {
			t.Errorf("the trace %s does not notice: %s", m.trace, m.what)
		}
	}
}
