package faultlab

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of docs/guarantees.md")

// The table of docs/guarantees.md stands between these.
const (
	page  = "../../../docs/guarantees.md"
	begin = "<!-- written by test/conformance/faultlab -->\n"
	end   = "<!-- end -->\n"
)

// checkPage prints the table, and compares its rows with those of the page: how many
// requests there were differs a little from one run to the next.
func checkPage(t *testing.T, measured []count) {
	t.Helper()
	want := table(measured)
	t.Logf("\n%s", want)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %q or %q", page, begin, end)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if strings.Count(got, "\n") != strings.Count(want, "\n") {
		t.Errorf("%s has another number of shapes; run this test with -update", page)
	}
	for _, s := range shapes {
		if !strings.Contains(got, "\n| "+s.what+" | ") {
			t.Errorf("%s lacks the shape %q; run this test with -update", page, s.what)
		}
	}
}

func table(measured []count) string {
	var b strings.Builder
	b.WriteString("\n| what the server does | in 15 s |\n| --- | --- |\n")
	for i, s := range shapes {
		fmt.Fprintf(&b, "| %s | %v |\n", s.what, measured[i])
	}
	b.WriteString("\n")
	return b.String()
}
