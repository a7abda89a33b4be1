package docs

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadmeShowsWhatIsThere keeps the programs and the trace in README.md, and in that of
// the metrics, equal to the ones that are compiled and run.
func TestReadmeShowsWhatIsThere(t *testing.T) {
	t.Chdir(root)
	if parts := includedIn(t, "README.md"); len(parts) != 2 {
		t.Errorf("README.md has %d parts from files, want 2", len(parts))
	}
	if parts := includedIn(t, "prometheus/README.md"); len(parts) != 2 {
		t.Errorf("prometheus/README.md has %d parts from files, want 2", len(parts))
	}
}

var moduleCount = regexp.MustCompile(`(?m)^go list -deps -f '(.*)' (\./\S+) \| sort -u \| wc -l +# (\d+)$`)

// TestReadmeCountsModules runs the command that README.md counts modules with.
func TestReadmeCountsModules(t *testing.T) {
	t.Chdir(root)
	match := moduleCount.FindStringSubmatch(readText(t, "README.md"))
	if match == nil {
		t.Fatal("README.md has no such command")
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", match[1], match[2])
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	if got := len(slices.Compact(modules)); fmt.Sprint(got) != match[3] {
		t.Errorf("README.md counts %s modules, and there are %d", match[3], got)
	}
}
