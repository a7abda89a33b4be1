package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// retired are words that once stood for things of the project, each with the word of
// docs/glossary.md that took its place.
var retired = map[string]string{
	"resume point":    "resume version",
	"curve of pauses": "backoff schedule",
	"pause":           "delay, backoff",
	"pauses":          "delay, backoff",
	"fence":           "refetch version",
	"fences":          "refetch version",
	"an ask":          "refetch",
	"the ask":         "refetch",
	"asks in flight":  "refetch",
	"doubt":           "unsure key, unverified server",
	"doubts":          "unsure key, unverified server",
	"in doubt":        "unsure key, unverified server",
	"went back":       "rolled back",
	"silence":         "idle time, idle",
	"silent":          "idle time, idle",
	"patience":        "response idle timeout",
	"hang up":         "close",
	"the probe":       "history check",
	"in good order":   "cleanly",
	"for ever":        "forever",
	"afresh":          "again",
	"anew":            "again",
}

// otherMeanings are the pages in which retired words have other meanings: databases pause and
// fence, other clients are silent.
var otherMeanings = []string{"apitest/README.md", "docs/transports.md", "test/", "durable/"}

// TestRetiredWords looks for retired words in the text of pages and in the comments of the
// protocol.
func TestRetiredWords(t *testing.T) {
	t.Chdir(root)
	words := regexp.MustCompile(`(?i)\b(` + strings.Join(slices.Sorted(maps.Keys(retired)), "|") + `)\b`)
	for _, file := range wordFiles(t) {
		data, err := os.ReadFile(file)
		must.OK(t, err)
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
				t.Errorf("%s:%d: write %q for %q", file, i+1, retired[strings.ToLower(word)], word)
			}
		}
	}
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
