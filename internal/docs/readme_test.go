package docs

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/chart"
	"github.com/relist-go/relist/internal/must"
)

// TestReadmeShowsWhatIsThere keeps the programs in README.md, and in that of
// the metrics, equal to the ones that are compiled and run.
func TestReadmeShowsWhatIsThere(t *testing.T) {
	t.Chdir(root)
	if parts := includedIn(t, "README.md"); len(parts) != 3 {
		t.Errorf("README.md has %d parts from files, want 3", len(parts))
	}
	if parts := includedIn(t, "prometheus/README.md"); len(parts) != 2 {
		t.Errorf("prometheus/README.md has %d parts from files, want 2", len(parts))
	}
}

// TestReadmeCountsModules counts those that client-go's informers and kubeconfig loader need, and
// those of the quickstart.
func TestReadmeCountsModules(t *testing.T) {
	t.Chdir(root)
	count := func(folder string, packages ...string) int {
		list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-C", folder, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)...)
		list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
		out, err := list.Output()
		must.OK(t, err)
		modules := strings.Fields(string(out))
		slices.Sort(modules)
		return len(slices.Compact(modules))
	}
	want := fmt.Sprintf("| modules that [the program below](#use-it) needs | %d | %d |", count("test", "k8s.io/client-go/informers", "k8s.io/client-go/tools/clientcmd"),
		count(".", "./examples/quickstart"))
	if !strings.Contains(readText(t, "README.md"), want) {
		t.Errorf("README.md has not: %s", want)
	}
}

// TestReadmeFigures compares the costs in README.md with the tables that the benchmark writes.
func TestReadmeFigures(t *testing.T) {
	t.Chdir(root)
	readme, page := readText(t, "README.md"), readText(t, "docs/performance.md")
	for _, name := range []string{"list-json", "list-protobuf"} {
		cpu, memory := measured(t, page, name, "CPU, s"), measured(t, page, name, "peak RSS, MB")
		want := fmt.Sprintf("| %s s, %s MB | %s s, %s MB |", cpu[1], memory[1], cpu[0], memory[0])
		if !strings.Contains(readme, want) {
			t.Errorf("README.md has not, for %s: %s", name, want)
		}
	}
}

// figureLink is a figure with a link to its row of docs/performance.md.
var figureLink = regexp.MustCompile(`\[([\d.]+) (MB|s|% of a core)\]\([^)]*performance\.md#([\w-]+)\)`)

// TestLinkedFigures compares the figures that pages quote, each with a link to its row, with what
// the benchmark has written there.
func TestLinkedFigures(t *testing.T) {
	t.Chdir(root)
	page := readText(t, "docs/performance.md")
	seen := 0
	for _, file := range pages(t) {
		for _, m := range figureLink.FindAllStringSubmatch(readText(t, file), -1) {
			seen++
			name := map[string]string{"MB": "live heap, MB", "s": "CPU, s", "% of a core": "CPU, % of a core"}[m[2]]
			if strings.HasPrefix(m[3], "copy-") && m[2] == "MB" {
				name = "peak RSS over idle, MB"
			}
			_, decimals, _ := strings.Cut(m[1], ".")
			if want := fmt.Sprintf("%.*f", len(decimals), figure(t, measured(t, page, m[3], name)[0])); m[1] != want {
				t.Errorf("%s says %s, and docs/performance.md %s", file, m[0], want)
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d figures were found", seen)
	}
}

// TestPerformancePicture keeps the picture of docs/performance.md equal to its tables.
func TestPerformancePicture(t *testing.T) {
	t.Chdir(root)
	page := readText(t, "docs/performance.md")
	var pairs []chart.Pair
	for _, row := range []struct{ what, name, figure string }{
		{"first list of 20,000 Pods, JSON: CPU, s", "list-json", "CPU, s"},
		{"first list, JSON: peak memory, MB", "list-json", "peak RSS, MB"},
		{"first list, protobuf: CPU, s", "list-protobuf", "CPU, s"},
		{"first list, protobuf: peak memory, MB", "list-protobuf", "peak RSS, MB"},
		{"first list, six fields of each Pod: peak memory, MB", "list-slim", "peak RSS, MB"},
		{"list again when nothing has changed: CPU, s", "relist-0", "CPU, s"},
		{"watch, JSON: events a second (more is better)", "watch-json", "events/s"},
		{"watch, protobuf: events a second (more is better)", "watch-protobuf", "events/s"},
		{"from the change to the handler, 99th percentile, ms", "lag", "lag p99, ms"},
		{"1,000 idle informers: memory of each, KB", "many-idle", "RSS per informer, KB"},
		{"1,000 idle informers: CPU at the start, s", "many-idle", "CPU, s"},
	} {
		m := measured(t, page, row.name, row.figure)
		pairs = append(pairs, chart.Pair{Label: row.what, Value: [2]float64{figure(t, m[0]), figure(t, m[1])}, Text: [2]string{m[0], m[1]}})
	}
	picture := chart.Bars("What relist and client-go need; the tables below have the numbers", "go test ./internal/docs -run TestPerformancePicture -update",
		[2]string{"relist", "client-go"}, pairs)
	compareWith(t, "docs/performance.svg", picture)
}

// measured returns a figure of a case in docs/performance.md: of relist, and if client-go has it,
// too, of client-go, and their ratio.
func measured(t *testing.T, page, name, figure string) []string {
	t.Helper()
	before, rest, ok := strings.Cut(page, "\n| <a id=\""+name+"\"></a>")
	row, _, _ := strings.Cut(rest, "\n")
	head, _, _ := strings.Cut(before[strings.LastIndex(before, "\n| | ")+len("\n| | "):], " |\n")
	column := slices.Index(strings.Split(head, " | "), figure) + 1
	cells := strings.Split(row, " | ")
	if !ok || column < 1 || column >= len(cells) {
		t.Fatalf("docs/performance.md has no %q of %s", figure, name)
	}
	m := regexp.MustCompile(`^(\S+)(?: / (\S+): \*\*(\S+)\*\*| \||$)`).FindStringSubmatch(cells[column])
	if m == nil {
		t.Fatalf("docs/performance.md has %q for %q of %s", cells[column], figure, name)
	}
	return m[1:]
}

func figure(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	must.OK(t, err)
	return v
}
