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
	for _, title := range []string{"First list, JSON", "First list, protobuf"} {
		cpu, memory := measured(t, page, title, "CPU, s"), measured(t, page, title, "peak RSS, MB")
		want := fmt.Sprintf("| %s s, %s MB | %s s, %s MB |", cpu[1], memory[1], cpu[0], memory[0])
		if !strings.Contains(readme, want) {
			t.Errorf("README.md has not, for %q: %s", title, want)
		}
	}
}

// TestPerformanceSummary keeps the summary of docs/performance.md equal to its tables.
func TestPerformanceSummary(t *testing.T) {
	t.Chdir(root)
	page := readText(t, "docs/performance.md")
	want := "| | client-go | relist | ratio |\n| --- | ---: | ---: | ---: |\n"
	for _, row := range []struct{ what, title, figure string }{
		{"first list of 20,000 Pods, JSON: CPU, s", "First list, JSON", "CPU, s"},
		{"the same: peak memory, MB", "First list, JSON", "peak RSS, MB"},
		{"first list, protobuf: CPU, s", "First list, protobuf", "CPU, s"},
		{"first list, protobuf: peak memory, MB", "First list, protobuf", "peak RSS, MB"},
		{"first list, six fields of each Pod: peak memory, MB", "First list, JSON, six fields of each Pod", "peak RSS, MB"},
		{"list again when nothing has changed: CPU, s", "List again after 410, 0 % changed, JSON", "CPU, s"},
		{"watch, JSON: events a second", "Steady watch, JSON", "events/s"},
		{"watch, protobuf: events a second", "Steady watch, protobuf", "events/s"},
		{"from the change to the handler, 99th percentile, ms", "From the change to the handler, 1,000 events/s, JSON", "lag p99, ms"},
		{"1,000 idle informers: memory of each, KB", "1,000 informers that have nothing to do, one process", "RSS per informer, KB"},
		{"1,000 idle informers: CPU at the start, s", "1,000 informers that have nothing to do, one process", "CPU, s"},
	} {
		m := measured(t, page, row.title, row.figure)
		want += fmt.Sprintf("| %s | %s | %s | %s |\n", row.what, m[1], m[0], m[2])
	}
	const begin, end = "<!-- summary -->\n\n", "\n<!-- /summary -->"
	_, summary, ok := strings.Cut(page, begin)
	summary, _, _ = strings.Cut(summary, end)
	switch {
	case !ok:
		t.Error("docs/performance.md has no summary")
	case summary != want && *update:
		if err := os.WriteFile("docs/performance.md", []byte(strings.Replace(page, begin+summary+end, begin+want+end, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	case summary != want:
		t.Errorf("the summary of docs/performance.md is out of date: run go test ./internal/docs -run TestPerformanceSummary -update. It should be\n%s", want)
	}
}

// measured returns what a table of docs/performance.md has of relist and of client-go, and their ratio.
func measured(t *testing.T, page, title, figure string) []string {
	t.Helper()
	_, section, ok := strings.Cut(page, "### "+title+"\n")
	section, _, _ = strings.Cut(section, "\n### ")
	row := regexp.MustCompile(`\| ` + regexp.QuoteMeta(figure) + ` \| (\S+) \| (\S+) \| \*\*(\S+)\*\*`).FindStringSubmatch(section)
	if !ok || row == nil {
		t.Fatalf("docs/performance.md has no %q under %q", figure, title)
	}
	return row[1:]
}
