package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/relist-go/relist/test/bench/measure"
)

// pages have the tables of all sections.
var pages = []string{"../../docs/performance.md", "../../docs/transports.md"}

// details are the rows of tables that a terminal shows and a page does not. They explain the CPU and the memory of a program, which
// matters to who changes it.
var details = []string{measure.Allocs, measure.AllocBytes, measure.Received}

// withoutDetails returns a table without these rows.
func withoutDetails(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(details, func(name string) bool { return strings.HasPrefix(line, "| "+name+" |") }) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// replaceSection writes text between the comments <!-- bench:name --> and <!-- /bench --> of the first page that has them.
func replaceSection(pages []string, name, text string) error {
	begin, end := "<!-- bench:"+name+" -->\n", "<!-- /bench -->"
	for _, file := range pages {
		page, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		before, rest, found := strings.Cut(string(page), begin)
		_, after, closed := strings.Cut(rest, end)
		if found && closed {
			return os.WriteFile(file, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
		}
	}
	return fmt.Errorf("no page of %s has %q that is followed by %q", strings.Join(pages, ", "), strings.TrimSpace(begin), end)
}
