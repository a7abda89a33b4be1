package main

import (
	"html"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// built is the site of the repository, made once. TestMain removes it.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "relist-site")
	if err != nil {
		return "", err
	}
	return dir, build("../../..", dir)
})

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, err := built(); err == nil {
		_ = os.RemoveAll(dir) // a folder of temporary files
	}
	os.Exit(status)
}

// pagesOf returns the pages of the site by their names.
func pagesOf(t *testing.T) map[string]string {
	t.Helper()
	dir, err := built()
	must.OK(t, err)
	pages := map[string]string{}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".html" {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name) // name begins with dir
		pages[filepath.ToSlash(rel)] = string(text)
		return err
	})
	must.OK(t, err)
	return pages
}

var (
	reference = regexp.MustCompile(`<(?:a|img) [^>]*(?:href|src)="([^"]*)"`)
	ids       = regexp.MustCompile(`\bid="([^"]*)"`)
)

// A link between two pages leads to a page, and to a heading that it has.
func TestSiteHasNoDeadLinks(t *testing.T) {
	pages := pagesOf(t)
	dir, _ := built()
	for name, text := range pages {
		for _, match := range reference.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(html.UnescapeString(match[1]), "#")
			if strings.Contains(target, ":") {
				continue
			}
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%s: dead link %s", name, match[1])
				continue
			}
			found := slices.ContainsFunc(ids.FindAllStringSubmatch(pages[file], -1), func(id []string) bool { return id[1] == anchor })
			if anchor != "" && !found && file != "traces.html" {
				t.Errorf("%s: %s has no such heading", name, match[1])
			}
		}
	}
}

// A page is called by its title, in links and in the menu, and leads to the next of the menu.
func TestPagesHaveTitles(t *testing.T) {
	named := regexp.MustCompile(`<a [^>]*>[^<]*\.md</a>`)
	pages := pagesOf(t)
	for name, text := range pages {
		if link := named.FindString(text); link != "" {
			t.Errorf("%s: a link has the name of a file: %s", name, link)
		}
	}
	if next := `<a rel="next" href="../docs/list-and-watch.html">How list and watch work</a>`; !strings.Contains(pages["docs/getting-started.html"], next) {
		t.Errorf("after Getting started comes another page than %s", next)
	}
}

// What is copied into the site keeps its license.
func TestSearchHasItsLicense(t *testing.T) {
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(dir, "search.js"))
	if err != nil || !strings.HasPrefix(string(script), "/* MiniSearch: Copyright ") || !strings.Contains(string(script), "The above copyright notice") {
		t.Errorf("search.js begins with %.60s (%v)", script, err)
	}
}

// The pages of the incidents show every diagram, and lead to the page of its trace.
func TestIncidentsShowPictures(t *testing.T) {
	pictures, err := filepath.Glob("../../../docs/incidents/pictures/*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatal("no pictures", err)
	}
	shown, links, beside := 0, 0, 0
	for name, text := range pagesOf(t) {
		if path.Dir(name) == "docs/incidents" {
			shown += strings.Count(text, `<img src="pictures/`)
			links += strings.Count(text, ">Step through this trace</a>")
			beside += strings.Count(text, `href="testdata/beside/`)
		}
	}
	if shown != len(pictures) || links < shown || beside < 5 {
		t.Errorf("%d of %d pictures are shown; %d traces are linked to, and %d for two clients", shown, len(pictures), links, beside)
	}
}

// Every trace of the repository has a page, and the index names it.
func TestEveryTraceHasAPage(t *testing.T) {
	pages := pagesOf(t)
	traces, err := filepath.Glob("../../../testdata/*.txt")
	if err != nil || len(traces) < 200 {
		t.Fatal(len(traces), err)
	}
	for _, file := range traces {
		page := "testdata/" + strings.TrimSuffix(filepath.Base(file), ".txt") + ".html"
		if !strings.Contains(pages[page], `id="wire"`) || !strings.Contains(pages["traces.html"], page) {
			t.Errorf("%s has no page, or the index does not have it", file)
		}
	}
}
