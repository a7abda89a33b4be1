package programs

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/docs/incidents/naive"
	"github.com/relist-go/relist/examples/smallest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/protocol"
	"github.com/relist-go/relist/trace"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/ladder.md")

type rung struct {
	name, why, code string
	program         trace.Program
}

// ladder has the clients of the page. Each does more than the one before; but three are branches:
// the quarantine, and one guest that needs it. Names in backquotes are those of relist replay.
var ladder = []rung{
	{"`smallest`", "loses nothing, as long as objects decode and the server was not restored", "[smallest.go](../examples/smallest/smallest.go)", smallest.Program},
	{"`conversation-alone`", "the conversation of relist's machine: all transports and encodings, initial events, and more ways in which a list goes wrong", "[machine.go](../protocol/machine.go)", Only(protocol.Guests{})},
	{"quarantine", "an object that cannot be used is requested again, and the others stay live", "[quarantine.go](../protocol/quarantine.go)", Only(protocol.Guests{Quarantine: true})},
	{"quarantine and history", "a server that was restored from a backup is noticed", "[history.go](../protocol/history.go)", Only(protocol.Guests{Quarantine: true, History: true})},
	{"quarantine and verify", "what the server itself has lost is found", "[verify.go](../protocol/verify.go)", Only(protocol.Guests{Quarantine: true, Verify: true})},
	{"quarantine and saved", "a program that restarts continues from a saved copy", "[saved.go](../protocol/saved.go)", Only(protocol.Guests{Quarantine: true, Saved: true})},
	{"relist, `mirror`", "all of them: a saved copy is compared with the history of the server", "[reading.md](reading.md)", trace.Mirror},
}

// plain is a program that knows no option of a trace.
func plain(p trace.Program) trace.Program {
	return func(env trace.Env) (trace.Client, error) {
		if env.Options != (trace.Options{}) {
			return nil, errors.New("a naive client has no options")
		}
		return p(env)
	}
}

// play reports whether a program does what a trace says, and which objects it holds at the end. If
// it does not get there, it holds none.
func play(t *testing.T, name, src string, program trace.Program) (passes bool, holds string) {
	t.Helper()
	const last = "pop 1000\nstore\n"
	f, err := trace.Parse(name, []byte(src+last))
	must.OK(t, err)
	run, _ := trace.Replay(f, program, nil) // which differs from the file at its end at least
	_, end, _ := strings.Cut(string(run), "\npop 1000\n")
	_, holds, _ = strings.Cut(end, "store\n")
	return strings.HasPrefix(string(run), src), holds
}

var item = regexp.MustCompile(`(?m)^- \[([^\]]+)\]\(([^/)]+\.txt)\)`)

// The page says how many traces of each group a client passes, and which to look at first.
func TestLadder(t *testing.T) {
	const page, begin = "../../docs/ladder.md", "<!-- written by go test ./internal/programs -update -->\n"
	passed, right := map[string]int{}, map[string]int{}
	first, most := map[string]string{}, map[string]int{} // the trace to look at, and how many there are like it in its group
	table, all, clientGo := "", 0, 0
	var naives []rung
	for name, program := range naive.Programs {
		naives = append(naives, rung{name: name, program: plain(program)})
	}
	for _, group := range strings.Split(read(t, "../../testdata/README.md"), "\n## ")[1:] {
		title, _, _ := strings.Cut(group, "\n")
		traces := item.FindAllStringSubmatch(group, -1)
		if len(traces) == 0 {
			continue // of another program
		}
		in, gains, same := map[string]int{}, map[string][]string{}, 0
		for _, m := range traces {
			src := read(t, "../../testdata/"+m[2])
			_, truth := play(t, m[2], src, trace.Mirror)
			found := false
			for _, r := range slices.Concat(ladder, naives) {
				passes, holds := play(t, m[2], src, r.program)
				if holds == truth {
					right[r.name]++
				}
				if passes {
					in[r.name]++
					passed[r.name]++
				}
				if passes && !found {
					found = true
					gains[r.name] = append(gains[r.name], fmt.Sprintf("[%s](../testdata/%s)", m[1], m[2]))
				}
			}
			if !strings.Contains(src, "# differs: ") {
				same++
			}
		}
		table += fmt.Sprintf("| %s | %d |", title, len(traces))
		for _, r := range ladder {
			table += fmt.Sprintf(" %d |", in[r.name])
			if n := len(gains[r.name]); n > most[r.name] {
				first[r.name], most[r.name] = gains[r.name][0], n
			}
		}
		table += fmt.Sprintf(" %d |\n", same)
		all += len(traces)
		clientGo += same
	}

	text := fmt.Sprintf("\n| of %d traces | passed | right at the end | why it is there | look at first | code |\n| --- | ---: | ---: | --- | --- | --- |\n", all)
	slices.SortFunc(naives, func(a, b rung) int {
		return cmp.Or(cmp.Compare(right[a.name], right[b.name]), cmp.Compare(a.name, b.name))
	})
	best := naives[len(naives)-1].name
	own, err := filepath.Glob("../../docs/incidents/testdata/*.txt") // where they go wrong
	must.OK(t, err)
	own = slices.DeleteFunc(own, func(name string) bool { return !strings.HasPrefix(read(t, name), "# program: "+best+"\n") })
	if len(own) == 0 {
		t.Fatalf("no trace shows where %s goes wrong", best)
	}
	text += fmt.Sprintf("| naive, %d clients | %d | %d to %d | one writes them first | [%s](incidents/testdata/%[5]s.txt) | [naive.go](incidents/naive/naive.go) |\n",
		len(naives), passed[best], right[naives[0].name], right[best], strings.TrimSuffix(filepath.Base(own[0]), ".txt"))
	for _, r := range ladder {
		if most[r.name] == 0 {
			t.Errorf("no trace needs %s", r.name)
		}
		text += fmt.Sprintf("| %s | %d | %d | %s | %s | %s |\n", r.name, passed[r.name], right[r.name], r.why, first[r.name], r.code)
	}
	text += fmt.Sprintf("| client-go | %d | | beside the others: most programs use it | [differences.md](differences.md) | |\n", clientGo)
	text += "\n| group | traces |"
	for _, r := range ladder {
		text += " " + r.name + " |"
	}
	text += " client-go |\n| --- |" + strings.Repeat(" ---: |", len(ladder)+2) + "\n" + table

	before, _, _ := strings.Cut(read(t, page), begin)
	if want := before + begin + text; *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil { // everybody may read a page
			t.Fatal(err)
		}
	} else if read(t, page) != want {
		t.Errorf("%s is out of date: go test ./internal/programs -update", page)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	must.OK(t, err)
	return string(b)
}
