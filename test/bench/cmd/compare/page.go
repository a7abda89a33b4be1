package main

import (
	"fmt"
	"os"
	"strings"
)

// pages have the tables of all sections.
var pages = []string{"../../docs/performance.md", "../../docs/transports.md"}

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
