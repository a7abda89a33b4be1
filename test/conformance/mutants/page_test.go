package mutants

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the list of mutations in README.md")

// The list of README.md stands between these.
const (
	page  = "README.md"
	begin = "<!-- written by test/conformance/mutants -->\n"
	end   = "<!-- end -->\n"
)

// README.md has the mutations that are made, and the traces that are there.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %q or %q", page, begin, end)
	}
	want := table()
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s has another list of mutations; run this test with -update. It should be\n%s", page, want)
	}
	for _, m := range mutations {
		if _, err := os.Stat(filepath.Join(root, "testdata", m.trace+".txt")); err != nil {
			t.Errorf("%s: %v", m.what, err)
		}
	}
}

func table() string {
	var b strings.Builder
	b.WriteString("\n| what is broken | where | the trace that fails |\n| --- | --- | --- |\n")
	for _, m := range mutations {
		fmt.Fprintf(&b, "| %s | %s | [%s](../../../testdata/%s.txt) |\n", m.what, m.dir, m.trace, m.trace)
	}
	b.WriteString("\n")
	return b.String()
}
