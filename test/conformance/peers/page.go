package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/relist-go/relist/internal/chart"
)

// The tables of test/clients.md stand between these. The picture shows the first of them.
const (
	page    = "../../clients.md" // from the folder of the programs
	picture = "../../clients.svg"
	begin   = "<!-- written by test/conformance/peers -->\n"
	end     = "<!-- end -->\n"
)

// cell is what several trials of one fault and one client have shown.
type cell []result

// cells finds the trials.
func cells(results []result) func(fault, client string) cell {
	all := make(map[[2]string]cell)
	for _, r := range results {
		key := [2]string{r.Fault, r.Client}
		all[key] = append(all[key], r)
	}
	return func(fault, client string) cell { return all[[2]string{fault, client}] }
}

// lasted is what a client that did not follow again is taken to have needed: longer than any other.
const lasted = 1e9

func (r result) took() float64 {
	if r.Stale != "" {
		return lasted
	}
	return r.Seconds
}

// worst is the longest that it took.
func (c cell) worst() float64 {
	worst := 0.0
	for _, r := range c {
		worst = max(worst, r.took())
	}
	return worst
}

// noise is a difference in seconds that means nothing.
const noise = 3

// String is the time, the median and in brackets the longest if noise does not explain it; or
// what became of the client, with how often if not every time.
func (c cell) String() string {
	if len(c) == 0 {
		return ""
	}
	var took []float64
	words := make(map[string]int)
	for _, r := range c {
		took = append(took, r.took())
		if r.Stale != "" {
			words[r.Stale]++
		}
	}
	slices.Sort(took)
	var parts []string
	if recovered := slices.DeleteFunc(slices.Clone(took), func(s float64) bool { return s == lasted }); len(recovered) > 0 {
		median, longest := recovered[len(recovered)/2], recovered[len(recovered)-1]
		shown := seconds(median)
		if longest-median >= noise {
			shown += " (" + seconds(longest) + ")"
		}
		parts = append(parts, shown)
	}
	for _, word := range []string{stale, silent, stopped, died} {
		switch n := words[word]; {
		case n == len(c):
			parts = append(parts, "**"+word+"**")
		case n > 0:
			parts = append(parts, fmt.Sprintf("**%s** %d of %d times", word, n, len(c)))
		}
	}
	return strings.Join(parts, "; ")
}

func seconds(s float64) string {
	if s >= 9.95 {
		return fmt.Sprintf("%.0f", s)
	}
	return fmt.Sprintf("%.1f", s)
}

// manyRequests is what a client may send until its copy is right again without a row in the table
// of requests.
const manyRequests = 20

func (c cell) mostRequests() int {
	most := 0
	for _, r := range c {
		most = max(most, r.Requests)
	}
	return most
}

func (c cell) requests() string {
	if len(c) == 0 {
		return ""
	}
	return thousands(c.mostRequests())
}

func thousands(n int) string {
	if n >= 1000 {
		return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
	}
	return fmt.Sprint(n)
}

// measured returns the clients that there are results of, those that meet every fault and those
// that meet some.
func measured(results []result) (all, some []client) {
	for _, c := range clients {
		switch {
		case !slices.ContainsFunc(results, func(r result) bool { return r.Client == c.name }):
		case len(c.only) > 0:
			some = append(some, c)
		default:
			all = append(all, c)
		}
	}
	return all, some
}

const secondsTitle = "Seconds until the copy is right again"

// tables is what test/clients.md has of the results.
func tables(results []result) string {
	var b strings.Builder
	at := cells(results)
	columns, extra := measured(results)
	versions(&b, results)
	head := func(title string) {
		fmt.Fprintf(&b, "\n### %s\n\n| fault |", title)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", c.label)
		}
		b.WriteString("\n|" + strings.Repeat(" --- |", 1+len(columns)) + "\n")
	}
	row := func(title, fault string, text func(cell) string) {
		fmt.Fprintf(&b, "| %s |", title)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", text(at(fault, c.name)))
		}
		b.WriteString("\n")
	}
	played := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return !slices.ContainsFunc(results, func(r result) bool { return r.Fault == f.name })
	})
	head(secondsTitle)
	for _, f := range played {
		row("`"+f.name+"`", f.name, cell.String)
	}
	head(fmt.Sprintf("Requests, where a client sent more than %d", manyRequests))
	for _, f := range played {
		if slices.ContainsFunc(columns, func(c client) bool { return at(f.name, c.name).mostRequests() > manyRequests }) {
			row("`"+f.name+"`", f.name, cell.requests)
		}
	}
	if len(extra) > 0 {
		b.WriteString("\n### With verification once a minute\n\n| fault | seconds | requests |\n| --- | --- | --- |\n")
		for _, c := range extra {
			for _, f := range faults {
				if found := at(f.name, c.name); len(found) > 0 {
					fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, found, found.requests())
				}
			}
		}
	}
	b.WriteString("\n### The faults\n\n| fault | what happens | in a cluster |\n| --- | --- | --- |\n")
	for _, f := range played {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, f.what, f.user)
	}
	b.WriteString("\n")
	return b.String()
}

// versions names what was measured.
func versions(b *strings.Builder, results []result) {
	b.WriteString("\n| column | library | version | protocol of its watches |\n| --- | --- | --- | --- |\n")
	var runs []int
	for _, c := range clients {
		release, count := "", 0
		var protos []string
		for _, r := range results {
			if r.Client != c.name {
				continue
			}
			release, count = r.Release, max(count, r.Run)
			if r.Proto != "" && !slices.Contains(protos, r.Proto) {
				protos = append(protos, r.Proto)
			}
		}
		if count > 0 {
			slices.Sort(protos)
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", c.label, c.program.library, release, strings.Join(protos, ", "))
			runs = append(runs, count)
		}
	}
	if fewest, most := slices.Min(runs), slices.Max(runs); fewest == most {
		fmt.Fprintf(b, "\nRuns of each fault: %d.\n", most)
	} else {
		fmt.Fprintf(b, "\nRuns of each fault: %d to %d.\n", fewest, most)
	}
}

// slowest names the faults after which relist was the slowest of all that recovered, and those
// after which it did not recover.
func slowest(results []result) []string {
	var lines []string
	at := cells(results)
	columns, _ := measured(results)
	for _, f := range faults {
		others, best := 0.0, lasted
		for _, c := range columns {
			if found := at(f.name, c.name); !c.isRelist() && len(found) > 0 {
				others, best = max(others, found.worst()), min(best, found.worst())
			}
		}
		for _, c := range columns {
			found := at(f.name, c.name)
			if !c.isRelist() || len(found) == 0 {
				continue
			}
			switch worst := found.worst(); {
			case worst == lasted:
				lines = append(lines, fmt.Sprintf("%s: %s has no answer: %s", f.name, c.label, found))
			case best < lasted && worst > others+1: // a second is noise
				lines = append(lines, fmt.Sprintf("%s: %s is the slowest: %s; the others %s at most", f.name, c.label, found, seconds(others)))
			}
		}
	}
	return lines
}

// secondsRow is a row of the first table: a fault, and a cell for each client.
var secondsRow = regexp.MustCompile("^\\| `(\\S+)` \\| (.*) \\|$")

// drawSeconds draws the table of seconds in a page.
func drawSeconds(page string) []byte {
	_, table, _ := strings.Cut(page, "\n### "+secondsTitle)
	_, table, _ = strings.Cut(table, "\n| fault | ")
	titles, table, _ := strings.Cut(table, " |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []chart.Row
	for line := range strings.SplitSeq(table, "\n") {
		if m := secondsRow.FindStringSubmatch(line); m != nil {
			row := chart.Row{Label: m[1]}
			for text := range strings.SplitSeq(m[2], " | ") {
				row.Cells = append(row.Cells, heat(text))
			}
			rows = append(rows, row)
		}
	}
	return chart.HeatMap("How long each client needs until its copy is right again, by fault; the table below has the numbers",
		"test/conformance/peers", strings.Split(titles, " | "), []string{"up to 3 s", "up to 10 s", "up to 30 s", "up to 90 s", "longer", "not at all"}, rows)
}

// heat returns the field of the picture for a cell of the table.
func heat(cell string) chart.Cell {
	shown, _, _ := strings.Cut(strings.ReplaceAll(cell, "**", ""), " ")
	shown = strings.TrimSuffix(shown, ";")
	took, err := strconv.ParseFloat(shown, 64)
	if err != nil || strings.Contains(cell, "**") {
		return chart.Cell{Text: shown, Heat: chart.Never}
	}
	limits := []float64{3, 10, 30, 90}
	i, _ := slices.BinarySearch(limits, took)
	return chart.Cell{Text: shown, Heat: i}
}

// writePage puts the tables into test/clients.md, and draws the first.
func writePage(home, tables string) error {
	file := filepath.Join(home, page)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks %q or %q", page, begin, end)
	}
	written := before + begin + tables + end + after
	if err := os.WriteFile(file, []byte(written), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, picture), drawSeconds(written), 0o644)
}
