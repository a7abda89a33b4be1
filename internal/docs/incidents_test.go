package docs

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

const incidents = 6

// Each page quotes the lines of its traces that matter, as they are in the file. Every trace of an
// incident is on a page whole: as a picture, and as a link to its text, so that no page tells a
// conversation twice.
func TestIncidentsShowTheirTraces(t *testing.T) {
	t.Chdir(root)
	pages := glob(t, "docs/incidents/[0-9]-*.md")
	if len(pages) != incidents {
		t.Errorf("there are %d pages, want %d: %q", len(pages), incidents, pages)
	}
	linked, drawn := map[string]bool{}, map[string]bool{}
	for _, page := range pages {
		if parts := includedIn(t, page); !slices.ContainsFunc(parts, func(part included) bool { return isTrace(part.file) }) {
			t.Errorf("%s quotes no trace of its own", page)
		}
		for _, match := range link.FindAllStringSubmatch(readText(t, page), -1) {
			switch file := path.Join(path.Dir(page), match[1]); {
			case isTrace(file):
				linked[file] = true
			case path.Ext(file) == ".svg":
				drawn[strings.TrimSuffix(path.Base(file), ".svg")] = true
			}
		}
	}
	for _, trace := range append(glob(t, "testdata/incident-*.txt"), glob(t, "docs/incidents/testdata/*.txt")...) {
		if !linked[trace] || !drawn[strings.TrimSuffix(path.Base(trace), ".txt")] {
			t.Errorf("no page links to %s and shows its picture", trace)
		}
	}
	for _, trace := range glob(t, "docs/incidents/testdata/beside/*.txt") {
		if !linked[trace] {
			t.Errorf("no page links to %s", trace)
		}
	}
}

func isTrace(file string) bool {
	return strings.HasPrefix(file, "testdata/incident-") || strings.HasPrefix(file, "docs/incidents/testdata/")
}

var (
	link   = regexp.MustCompile(`\]\(([^)\s"]+)\)`)
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
	must.OK(t, err)
	for i, name := range names {
		names[i] = filepath.ToSlash(name)
	}
	return names
}
