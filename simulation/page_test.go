package simulation

import (
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
)

var (
	trials = flag.Int("trials", 20, "how many seeds each row of a table of docs/reliability.md is measured with; those of the page are of 200")
	update = flag.String("update", "", "`file` of Markdown in which to replace the tables, ../docs/reliability.md")
)

// writing is held by the test that writes a table.
var writing sync.Mutex

// table is one table of a page. There it stands between two comments.
type table struct {
	name  string
	rows  int
	lines strings.Builder
}

func newTable(name string, columns ...string) *table {
	t := &table{name: name}
	t.line(columns)
	for i := range columns {
		columns[i] = "---"
	}
	t.line(columns)
	return t
}

func (t *table) line(cells []string) {
	t.lines.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func (t *table) row(cells ...string) {
	t.rows++
	t.line(cells)
}

// show prints the table, and writes it into a page if that was asked for and all of its
// rows are there.
func (t *table) show(tb testing.TB, rows int) {
	tb.Helper()
	tb.Logf("%s, %d seeds\n\n%s", t.name, *trials, t.lines.String())
	if *update == "" {
		return
	}
	if t.rows != rows {
		tb.Errorf("%d rows were measured, want %d: %s is left alone", t.rows, rows, *update)
		return
	}
	writing.Lock()
	defer writing.Unlock()
	text, err := os.ReadFile(*update)
	if err != nil {
		tb.Fatal(err)
	}
	begin, end := "<!-- written by simulation: "+t.name+" -->\n", "<!-- end -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		tb.Fatalf("%s lacks %q or %q", *update, begin, end)
	}
	if err := os.WriteFile(*update, []byte(before+begin+"\n"+t.lines.String()+"\n"+end+after), 0o666); err != nil {
		tb.Fatal(err)
	}
}
