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

// TestReadmeCountsModules counts those that client-go's informers and kubeconfig loader need, and those of the quickstart.
func TestReadmeCountsModules(t *testing.T) {
	t.Chdir(root)
	count := func(folder string, packages ...string) int {
		list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-C", folder, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)...)
		list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		modules := strings.Fields(string(out))
		slices.Sort(modules)
		return len(slices.Compact(modules))
	}
	want := fmt.Sprintf("| modules in the program below | %d | %d |", count("test", "k8s.io/client-go/informers", "k8s.io/client-go/tools/clientcmd"),
		count(".", "./examples/quickstart"))
	if !strings.Contains(readText(t, "README.md"), want) {
		t.Errorf("README.md has not: %s", want)
	}
}

// TestReadmeFigures compares the costs in README.md with the tables that the benchmark writes.
func TestReadmeFigures(t *testing.T) {
	t.Chdir(root)
	readme, page := readText(t, "README.md"), readText(t, "docs/performance.md")
	for title, encoding := range map[string]string{"First list, JSON": "JSON", "First list, protobuf": "protobuf"} {
		_, section, _ := strings.Cut(page, "### "+title+"\n")
		cpu := regexp.MustCompile(`\| CPU, s \| (\S+) \| (\S+) \|`).FindStringSubmatch(section)
		memory := regexp.MustCompile(`\| peak RSS, MB \| (\S+) \| (\S+) \|`).FindStringSubmatch(section)
		if cpu == nil || memory == nil {
			t.Fatalf("docs/performance.md has no table %q", title)
		}
		want := fmt.Sprintf("| %s s, %s MB | %s s, %s MB |", cpu[2], memory[2], cpu[1], memory[1])
		if !strings.Contains(readme, want) {
			t.Errorf("README.md has not, for %s: %s", encoding, want)
		}
	}
}
