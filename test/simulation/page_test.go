package simulation

import (
	"flag"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

var (
	trials = flag.Int("trials", 20, "how many seeds each row of a table of docs/guarantees.md is measured with; those of the page are of 200")
	update = flag.Bool("update", false, "write the tables that were measured into docs/guarantees.md")
)

const page = "../../docs/guarantees.md"

// writing is held by the test that reads or writes the page.
var writing sync.Mutex

// table is one table of the page. There it stands between two comments.
type table struct {
	name  string
	rows  []string // the first cell of each
	lines strings.Builder
}

func newTable(name string, columns ...string) *table {
	t := &table{name: name}
	t.line(columns)
	t.line(strings.Split(strings.Repeat("---,", len(columns)-1)+"---", ","))
	return t
}

func (t *table) line(cells []string) {
	t.lines.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func (t *table) row(cells ...string) {
	t.rows = append(t.rows, cells[0])
	t.line(cells)
}

// show prints the table. If all of its rows were measured, it writes the table into the
// page where that was asked for, or else sees that the page has the same rows.
func (t *table) show(tb testing.TB, rows int) {
	tb.Helper()
	tb.Logf("%s, %d seeds\n\n%s", t.name, *trials, t.lines.String())
	if len(t.rows) != rows {
		tb.Logf("%d of %d rows were measured, and are not compared with %s", len(t.rows), rows, page)
		return
	}
	writing.Lock()
	defer writing.Unlock()
	text, err := os.ReadFile(page)
	must.OK(tb, err)
	begin, end := "<!-- written by simulation: "+t.name+" -->\n", "<!-- end -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		tb.Fatalf("%s lacks %q or %q", page, begin, end)
	}
	if *update {
		must.OK(tb, os.WriteFile(page, []byte(before+begin+"\n"+t.lines.String()+"\n"+end+after), 0o666))
		return
	}
	if n := strings.Count(got, "\n| ") - 2; n != rows {
		tb.Errorf("the table %s of %s has %d rows, want %d: `make recovery ARGS=-update` writes it", t.name, page, n, rows)
	}
	for _, name := range t.rows {
		if !strings.Contains(got, "\n| "+name+" | ") {
			tb.Errorf("the table %s of %s lacks the row %q: `make recovery ARGS=-update` writes it", t.name, page, name)
		}
	}
}
