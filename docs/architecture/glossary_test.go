package architecture

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	glossaryRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| (.+) \| (.+) \|$`)
	definition  = regexp.MustCompile("^\\[`([\\w.]+)`\\]\\(([^)\\s]+)\\)$")
)

// Each word stands in the glossary once, with a meaning, and with a place in the code that is there
// and has the name.
func TestGlossary(t *testing.T) {
	words := map[string]bool{}
	for _, row := range glossaryRow.FindAllStringSubmatch(readFile(t, "../glossary.md"), -1) {
		if row[1] == "word" || strings.HasPrefix(row[1], "---") {
			continue
		}
		for word := range strings.SplitSeq(row[1], ", ") {
			if words[word] {
				t.Errorf("%q stands there twice", word)
			}
			words[word] = true
		}
		place := definition.FindStringSubmatch(row[3])
		if place == nil {
			t.Errorf("%q is not defined by [`name`](path), but by %s", row[1], row[3])
			continue
		}
		name, path := place[1], filepath.Join("..", place[2])
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(readFile(t, path)) {
			t.Errorf("%q: %s has no %s", row[1], path, name)
		}
	}
	for _, word := range []string{"resume version", "quarantine", "refetch", "history check", "backoff", "outage", "list", "initial events", "tombstone", "mark", "held", "relist", "synced"} {
		if !words[word] {
			t.Errorf("%q is missing", word)
		}
	}
}
