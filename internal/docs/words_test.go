package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// otherMeanings are the pages in which retired words have other meanings: databases pause and
// fence, other clients are silent.
var otherMeanings = []string{"apitest/README.md", "docs/glossary.md", "docs/transports.md", "test/", "durable/"}

// TestRetiredWords looks for the words that docs/glossary.md has retired, in the text of pages and
// in the comments of the protocol.
func TestRetiredWords(t *testing.T) {
	t.Chdir(root)
	words := retired(t)
	for _, file := range wordFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		inFence := false
		for i, line := range strings.Split(string(data), "\n") {
			switch {
			case strings.HasSuffix(file, ".go"):
				_, line, _ = strings.Cut(line, "// ")
			case strings.HasPrefix(line, "```"):
				inFence = !inFence
			case inFence:
				continue
			}
			if word := words.FindString(line); word != "" {
				t.Errorf("%s:%d: docs/glossary.md has retired %q", file, i+1, word)
			}
		}
	}
}

// retired returns a pattern of the first column of the table.
func retired(t *testing.T) *regexp.Regexp {
	page, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "| not | but |\n| --- | --- |\n")
	if !ok {
		t.Fatal("docs/glossary.md has no table of retired words")
	}
	var words []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			break
		}
		for word := range strings.SplitSeq(cells[1], ",") {
			words = append(words, regexp.QuoteMeta(strings.TrimSpace(word)))
		}
	}
	if len(words) < 10 {
		t.Fatalf("the table of retired words has %d words: it could not be read", len(words))
	}
	return regexp.MustCompile(fmt.Sprintf(`(?i)\b(%s)\b`, strings.Join(words, "|")))
}

func wordFiles(t *testing.T) []string {
	files := pages(t)
	for _, pattern := range []string{
		"testdata/*.txt", "protocol/*.go", "reflector/*.go", "deltafifo/*.go", "store/*.go", "informer/*.go", "listwatch/source/*.go",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no file is called %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		return slices.ContainsFunc(otherMeanings, func(prefix string) bool { return strings.HasPrefix(file, prefix) })
	})
}
