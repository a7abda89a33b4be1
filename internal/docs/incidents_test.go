package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const incidents = 5

// Each page tells what its traces show, and shows them whole, from the first
// command to the last line. No trace of an incident goes untold.
func TestIncidentsShowTheirTraces(t *testing.T) {
	t.Chdir(root)
	pages := glob(t, "docs/incidents/[0-9]-*.md")
	if len(pages) != incidents {
		t.Errorf("there are %d pages, want %d: %q", len(pages), incidents, pages)
	}
	shown := map[string]bool{}
	for _, page := range pages {
		of := 0
		for _, part := range includedIn(t, page) {
			if !isTrace(part.file) {
				continue
			}
			_, conversation, _ := strings.Cut("\n"+readText(t, part.file), "\nstart")
			if part.text+"\n" == "start"+conversation {
				shown[part.file] = true
				of++
			}
		}
		if of == 0 {
			t.Errorf("%s shows no trace of its own", page)
		}
	}
	for _, trace := range append(glob(t, "testdata/incident-*.txt"), glob(t, "docs/incidents/testdata/*.txt")...) {
		if !shown[trace] {
			t.Errorf("no page shows %s from start to end", trace)
		}
	}
}

func isTrace(file string) bool {
	return strings.HasPrefix(file, "testdata/incident-") || strings.HasPrefix(file, "docs/incidents/testdata/")
}

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	report = regexp.MustCompile(`https://github\.com/[\w-]+/[\w-]+/(issues|pull)/\d+`)
)

// Each page names the report that it is about, is in the index, and has no dead
// link to a file of the repository.
func TestIncidentsNameTheirReports(t *testing.T) {
	t.Chdir(root)
	index := readText(t, "docs/incidents/README.md")
	for _, page := range glob(t, "docs/incidents/*.md") {
		text := readText(t, page)
		if name := filepath.Base(page); name != "README.md" {
			if !report.MatchString(text) {
				t.Errorf("%s names no report", page)
			}
			if !strings.Contains(index, "]("+name+")") {
				t.Errorf("docs/incidents/README.md has no link to %s", name)
			}
		}
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(match[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if len(glob(t, filepath.Join(filepath.Dir(page), target))) == 0 {
				t.Errorf("%s: dead link %s", page, match[1])
			}
		}
	}
}

// glob returns the files, with slashes on every system, as links have them.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		names[i] = filepath.ToSlash(name)
	}
	return names
}
