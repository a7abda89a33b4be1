package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// testdata/README.md has a line for each trace, and no line for what is not there.
func TestEachTraceIsListed(t *testing.T) {
	t.Chdir(root)
	listed := map[string]bool{}
	text := readText(t, "testdata/README.md")
	for _, match := range link.FindAllStringSubmatch(text, -1) {
		if listed[match[1]] {
			t.Errorf("testdata/README.md lists %s twice", match[1])
		}
		listed[match[1]] = true
		if len(glob(t, filepath.Join("testdata", match[1]))) == 0 {
			t.Errorf("testdata/README.md: dead link %s", match[1])
		}
	}
	for line := range strings.Lines(text) {
		for _, match := range shownBy.FindAllStringSubmatch(line, -1) {
			name, isTrace := strings.CutSuffix(filepath.Base(match[2]), ".txt")
			if isTrace && name != match[1] {
				t.Errorf("testdata/README.md calls %s %s", match[2], match[1])
			}
		}
	}
	err := fs.WalkDir(os.DirFS("testdata"), ".", func(path string, entry fs.DirEntry, err error) error {
		folder, _, isInside := strings.Cut(path, "/")
		if err == nil && path != "." && path != "README.md" && !listed[path] && (!entry.IsDir() || !isInside) && (filepath.Ext(path) == ".txt" || !listed[folder]) {
			t.Errorf("testdata/README.md has no line for %s", path)
		}
		return err
	})
	must.OK(t, err)
}
