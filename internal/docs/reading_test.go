package docs

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// These are how many lines somebody reads who follows docs/reading.md, and how many of them are
// relist's client.
const (
	readingLines = 6000
	clientLines  = 4500
)

var (
	readingHeading = regexp.MustCompile(`(?m)^## .*, in (\d+) lines$`)
	readingItem    = regexp.MustCompile(`(?m)^\d+\. (.*(?:\n   .*)*)`)
	readingFile    = regexp.MustCompile(`\[([^\]]+\.go)\]\(([^)]+\.go)\)`)
)

// The files that docs/reading.md leads through, and those of each heading, have no more lines than
// the page says.
func TestReadingPath(t *testing.T) {
	t.Chdir(root)
	page := readText(t, "docs/reading.md")
	headings := readingHeading.FindAllStringSubmatchIndex(page, -1)
	if len(headings) != strings.Count(page, "\n## ") {
		t.Fatal("a heading does not say how many lines it has")
	}
	files, all, client := 0, 0, 0
	for i, h := range headings {
		end := len(page)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		lines := 0
		for _, item := range readingItem.FindAllString(page[h[1]:end], -1) {
			for _, link := range readingFile.FindAllStringSubmatch(item, -1) {
				if path.Base(link[1]) != path.Base(link[2]) {
					t.Errorf("the link to %s is called %s", link[2], link[1])
				}
				lines += strings.Count(readText(t, path.Join("docs", link[2])), "\n")
				files++
			}
		}
		most, err := strconv.Atoi(page[h[2]:h[3]])
		if err != nil || lines > most || lines == 0 {
			t.Errorf("%s has %d lines", page[h[0]:h[1]], lines)
		}
		t.Logf("%s: %d", page[h[0]:h[1]], lines)
		all += lines
		if i > 0 && i < len(headings)-1 { // between the smallest client and the server's half
			client += lines
		}
	}
	t.Logf("%d lines in %d files", all, files)
	if all > readingLines || client > clientLines {
		t.Errorf("the path has %d lines, and the client %d, want at most %d and %d", all, client, readingLines, clientLines)
	}
}
