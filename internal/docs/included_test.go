package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// root is where each test goes first. TestMain could go there for all of them, but go test would
// not notice: it would look for the files that the tests read in this folder, and take an old
// result although a page has changed.
const root = "../.."

// includedMark stands in a page above a fenced block that is a part of a file.
const includedMark = "<!-- from "

var includedBlock = regexp.MustCompile("(?s)" + includedMark + "(\\S+) -->\n```\\w*\n(.*?)\n?```\n")

// included is a part of a page that comes from a file of the repository.
type included struct{ file, text string }

// includedIn returns those parts of a page, in order. Each must be in its file as the page shows
// it, line for line; a page may leave out the indentation that all its lines have.
func includedIn(t *testing.T, page string) []included {
	t.Helper()
	text := readText(t, page)
	var parts []included
	for _, match := range includedBlock.FindAllStringSubmatch(text, -1) {
		part := included{match[1], match[2]}
		if part.text == "" || !hasLines(readText(t, part.file), part.text) {
			t.Errorf("%s shows something that is not in %s:\n%s", page, part.file, part.text)
		}
		parts = append(parts, part)
	}
	if want := strings.Count(text, includedMark); len(parts) != want {
		t.Errorf("%s has %d marks, and %d fenced blocks below one", page, want, len(parts))
	}
	return parts
}

// hasLines reports whether a file has these lines, indented or not.
func hasLines(file, lines string) bool {
	for range 4 {
		if strings.Contains("\n"+file, "\n"+lines+"\n") {
			return true
		}
		lines = indented.ReplaceAllString(lines, "\t$0")
	}
	return false
}

var indented = regexp.MustCompile(`(?m)^.+$`)

// pages returns the pages of the repository.
func pages(t *testing.T) []string { return files(t, ".md") }

// files returns the files of the repository that end so.
func files(t *testing.T, ext string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "dist", "node_modules"}, entry.Name()):
			return filepath.SkipDir
		case filepath.Ext(file) == ext:
			names = append(names, filepath.ToSlash(file))
		}
		return nil
	})
	must.OK(t, err)
	return names
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must.OK(t, err)
	return string(text)
}
