package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// pages have the figures of all sections: those of a case in the row that starts with <a
// id="name"></a>, and other tables between two comments.
var pages = []string{"../../docs/performance.md", "../../docs/transports.md"}

// update writes a report into the first page that has a place for it.
func update(pages []string, name string, r report) error {
	for _, file := range pages {
		page, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var text string
		var found bool
		if r.cell != nil {
			text, found = fillRow(string(page), name, r.cell)
		} else {
			text, found = replaceSection(string(page), name, r.text)
		}
		if found {
			return os.WriteFile(file, []byte(text), 0o644)
		}
	}
	return fmt.Errorf("no page of %s has a place for %s", strings.Join(pages, ", "), name)
}

// replaceSection writes text between the comments <!-- bench:name --> and <!-- /bench -->.
func replaceSection(page, name, text string) (string, bool) {
	begin, end := "<!-- bench:"+name+" -->\n", "<!-- /bench -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	return before + begin + "\n" + text + "\n" + end + after, found && closed
}

// fillRow writes the figures of a case into its row. The head of the table has their names, so the
// page says what it shows.
func fillRow(page, name string, cell func(figure string) string) (string, bool) {
	lines := strings.Split(page, "\n")
	row := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, rowOf(name)) })
	head := row
	for head > 0 && strings.HasPrefix(lines[head-1], "| ") {
		head--
	}
	if row < 0 || row-head < 2 {
		return page, false
	}
	figures, old := cells(lines[head]), cells(lines[row])
	text := "| " + old[0] + " |"
	for _, figure := range figures[1:] {
		text += " " + cell(figure) + " |"
	}
	lines[row] = text
	return strings.Join(lines, "\n"), true
}

func rowOf(name string) string { return `| <a id="` + name + `"></a>` }

func cells(row string) []string {
	all := strings.Split(strings.Trim(row, "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}
