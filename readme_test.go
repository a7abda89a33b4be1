package relist

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// included finds the parts of a page that come from a file of the repository.
var included = regexp.MustCompile("(?s)<!-- from (\\S+) -->\n```\\w*\n(.*?)```")

// TestReadmeShowsWhatIsThere keeps the program and the trace in README.md equal to
// the ones that are compiled and run.
func TestReadmeShowsWhatIsThere(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := included.FindAllStringSubmatch(string(readme), -1)
	if len(parts) != 2 {
		t.Fatalf("README.md has %d parts from files, want 2", len(parts))
	}
	for _, part := range parts {
		source, err := os.ReadFile(part[1])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(source), part[2]) || part[2] == "" {
			t.Errorf("README.md shows something that is not in %s:\n%s", part[1], part[2])
		}
	}
}
