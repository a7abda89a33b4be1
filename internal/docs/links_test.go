package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	pageHeading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor = regexp.MustCompile(`[^a-z0-9 -]`)
	rowAnchor   = regexp.MustCompile(`<a id="([^"]+)">`)
)

// A link from a page to a file of the repository, or to a heading of a page, leads somewhere.
func TestPagesHaveNoDeadLinks(t *testing.T) {
	t.Chdir(root)
	pages := slices.Concat(glob(t, "*.md"), glob(t, "docs/*.md"), glob(t, "docs/incidents/*.md"), glob(t, "docs/guides/*.md"), glob(t, "testdata/*.md"))
	for _, page := range pages {
		for _, match := range link.FindAllStringSubmatch(readText(t, page), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			switch {
			case len(glob(t, file)) == 0:
				t.Errorf("%s: dead link %s", page, match[1])
			case anchor != "" && filepath.Ext(file) == ".md" && !slices.Contains(anchorsOf(readText(t, file)), anchor):
				t.Errorf("%s: %s has no such heading", page, match[1])
			}
		}
	}
}

// anchorsOf returns how the headings of a page are linked to: in small letters, with hyphens for spaces and nothing for
// punctuation. The rows of docs/states.md name theirs.
func anchorsOf(page string) []string {
	var anchors []string
	for _, match := range pageHeading.FindAllStringSubmatch(page, -1) {
		anchor := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(match[1])), "")
		anchors = append(anchors, strings.ReplaceAll(anchor, " ", "-"))
	}
	for _, match := range rowAnchor.FindAllStringSubmatch(page, -1) {
		anchors = append(anchors, match[1])
	}
	return anchors
}
