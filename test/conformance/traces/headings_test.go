package traces

import (
	"os"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// headings returns the anchors of the differences in docs/differences.md, which are the headings of
// the third level.
func headings(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../../docs/differences.md")
	must.OK(t, err)
	anchors := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			anchors[anchorOf(strings.TrimSpace(heading))] = true
		}
	}
	return anchors
}

// anchorOf is how a heading is linked to: in small letters, with hyphens for
// spaces and nothing for punctuation.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(heading))
}
