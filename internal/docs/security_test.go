package docs

import (
	"strings"
	"testing"
)

// Each promise of SECURITY.md names tests that are there.
func TestSecurityPromisesAreShown(t *testing.T) {
	t.Chdir(root)
	_, section, _ := strings.Cut(readText(t, "SECURITY.md"), "\n## What is promised\n")
	section, _, _ = strings.Cut(section, "\n## ")
	promises := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise |") || strings.HasPrefix(line, "| --- |") {
			continue
		}
		promises++
		links := shownBy.FindAllStringSubmatch(line, -1)
		if len(links) == 0 {
			t.Errorf("nothing shows this: %s", line)
		}
		for _, l := range links {
			checkShown(t, line, l[1], l[2])
		}
	}
	if promises < 10 {
		t.Errorf("%d promises are read", promises)
	}
}
