package smallest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/trace"
)

var update = flag.Bool("update", false, "rewrite traces.txt and the table of docs/smallest-client.md")

// cures say why traces fail, by the first lines that differ: that of the file with a minus, and
// that of the run with a plus. The first that fits is the reason. If a trace asks for what the
// client does not have, the line is "asks", and that.
var cures = []cure{
	{`^asks restart saved`, "a program that restarts lists everything again", "protocol/saved.go", "guides/warm-start.md#checkpoints", "saved-resumed"},
	{`^asks watchlist|^-> .*sendInitialEvents`, "there are no initial events; if lists take longer than the server remembers events, lists follow each other without end", "protocol/initial.go", "differences.md#lists-that-take-too-long", "list-outlasts-the-window"},
	{`^asks verify=`, "an event that the server lost is missed until the next list", "protocol/verify.go", "differences.md#verification", "verify-finds-drift"},
	{`^asks resync=`, "handlers are not called again for what they have failed to do", "reflector/driver.go", "differences.md#a-resync-of-handlers", "resync"},
	{`^asks transport=websocket`, "no watch gets through where only WebSockets do", "transport/websocket.go", "differences.md#watches-over-websocket", "websocket-closed"},
	{`^asks transport=http2`, "each watch needs a connection of its own", "transport/http2pool.go", "transports.md#many-watches-at-the-same-time", "http2-goaway"},
	{`^asks gzip|^-> close`, "a list takes more bytes, and an encoding that nobody asked for is not noticed", "transport/compression.go", "differences.md#compression", "streaming-gzip"},
	{`^asks encoding=`, "an object takes more bytes, and more time to decode", "listwatch/protobuf/protobuf.go", "differences.md#encodings", "protobuf"},
	{`^asks (shard|drop)=`, "each replica holds all objects, with all their members", "listwatch/client.go", "differences.md#shards", "shard"},

	{`^-! object|^-~ 1s\n`, "one object that does not decode, or has no name, stops the whole copy, and is reported again and again", "protocol/quarantine.go", "differences.md#objects-that-cannot-be-decoded", "event-undecodable"},
	{`^-~ 500ms\n|^-> .*watch=true\n\+> .*watch=true`, "after a restore from a backup the copy is a mixture of two histories", "protocol/history.go", "differences.md#after-an-outage", "restored-backup-overtaken"},
	{`^-! version\n\+> `, "the same, and a list would show it", "protocol/fold.go", "differences.md#unchanged-items-of-a-list", "restored-backup-relist"},
	{`^-~ 55s\n`, "a dead watch is noticed after 90 s and not 55, and an idle one is opened again every 90 s", "protocol/idle.go", "guides/freshness.md#dead-connections", "watch-idle"},
	{`^-! version\n\+! list`, "nothing is held of a server whose lists have no version", "protocol/list.go", "differences.md#a-list-without-a-version", "list-without-version"},
	{`^-= .*\n\+= `, "a late event replaces a newer state", "protocol/event.go", "differences.md#versions-that-are-missing-or-go-back", "version-late-events"},
	{`^-> .*limit=2\n\+> .*resourceVersion=0|^-> .*continue=p4`, "a list of a broken server has no end", "listwatch/source/pager.go", "differences.md#a-list-without-an-end", "pages-without-end"},
	{`^-~ 5s\n`, "a `Retry-After` that is a date is not obeyed", "transport/refusal.go", "differences.md#retry-after", "retry-after"},
}

// cure is a row of the page. differs is a pattern of what first differs, section says what relist
// does, and trace is the one to look at.
type cure struct{ differs, sees, file, section, trace string }

const (
	golden = "../../testdata/"
	list   = "traces.txt"
	page   = "../../docs/smallest-client.md"
	begin  = "<!-- written by go test ./examples/smallest -update -->\n"
	next   = "\nNext: [the ladder](ladder.md) from this client to relist, and [the order](reading.md) in which to read that.\n"
)

// has are the options of a start line that the client has, or that are none of its business.
var has = regexp.MustCompile(`^(path|kind|headers|random|limit|selector|field-selector|coalesce)\b`)

// Each golden trace passes, or fails for a reason that has a row; traces.txt says which.
func TestTraces(t *testing.T) {
	names, err := filepath.Glob(golden + "*.txt")
	if err != nil {
		t.Fatal(err)
	}
	was := read(t, list)
	passed := 0
	fails := map[string][]string{} // files by reason
	is := ""
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		differs, err := play(t, path)
		reason := "passes"
		if i := slices.IndexFunc(cures, func(c cure) bool { return regexp.MustCompile(c.differs).MatchString(differs) }); i >= 0 {
			reason = cures[i].file
			fails[cures[i].differs] = append(fails[cures[i].differs], name)
		} else if passed++; differs != "" {
			t.Errorf("%s fails, and no row says why: %q", name, differs)
		}
		line := fmt.Sprintf("%-36s %s\n", name, reason)
		if is += line; !*update && !strings.Contains(was, line) {
			t.Errorf("%s has not: %s%v", list, line, err)
		}
	}
	check(t, list, is)

	table := fmt.Sprintf("\n%d of %d golden traces pass. The others:\n\n| | what a user would see | the cure | look at |\n| ---: | --- | --- | --- |\n", passed, len(names))
	for _, c := range cures {
		of := fails[c.differs]
		if !slices.Contains(of, c.trace) {
			t.Errorf("%s does not fail because %s", c.trace, c.sees)
		}
		_, anchor, _ := strings.Cut(c.section, "#")
		table += fmt.Sprintf("| %d | %s | [%s](%s), in [%s](../%[5]s) | [%[6]s](../testdata/%[6]s.txt) |\n",
			len(of), c.sees, strings.ReplaceAll(anchor, "-", " "), c.section, c.file, c.trace)
	}
	before, _, _ := strings.Cut(read(t, page), begin)
	check(t, page, before+begin+table+next)
}

// A request that is given up says that nothing came.
func TestGivenUp(t *testing.T) {
	const name = golden + "list-unanswered.txt"
	f, err := trace.Parse(name, []byte(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	var said error
	_, _ = trace.Replay(f, func(env trace.Env) (trace.Client, error) {
		env.Problem = func(_, _ string, err error) { said = err }
		return Program(env)
	}, nil)
	if said == nil || !strings.Contains(said.Error(), "nothing came for 2m0s") {
		t.Error(said)
	}
}

// play returns what first differs, and the error of the run.
func play(t *testing.T, path string) (differs string, err error) {
	t.Helper()
	src := read(t, path)
	f, err := trace.Parse(path, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(src, "\nrestart saved\n") {
		return "asks restart saved", nil
	}
	refused := false
	_, err = trace.Replay(f, func(env trace.Env) (trace.Client, error) {
		c, err := Program(env)
		refused = err != nil
		return c, err
	}, nil)
	_, start, _ := strings.Cut(src, "\nstart")
	start, _, _ = strings.Cut(start, "\n")
	for _, option := range strings.Fields(start) {
		if !has.MatchString(option) {
			differs = "asks " + option
		}
	}
	if refused != (differs != "") {
		t.Errorf("%s: start%s: the program says %v", path, start, err)
	}
	if err == nil || refused {
		return differs, err
	}
	_, diff, _ := strings.Cut(err.Error(), "\n@@")
	for _, sign := range []string{"\n-", "\n+"} {
		if _, rest, ok := strings.Cut(diff, sign); ok {
			line, _, _ := strings.Cut(rest, "\n")
			differs += sign[1:] + line + "\n"
		}
	}
	return differs, err
}

func check(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { // everybody may read them
			t.Fatal(err)
		}
	} else if read(t, file) != want {
		t.Errorf("%s is out of date: go test ./examples/smallest -update", file)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil && !*update {
		t.Fatal(err)
	}
	return string(b)
}
