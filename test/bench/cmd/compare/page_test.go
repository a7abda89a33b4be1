package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

func TestUpdate(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	first := write("first.md", "a\n<!-- bench:one -->\nold\n<!-- /bench -->\nb\n<!-- bench:open -->\n")
	second := write("second.md", "<!-- bench:two -->\n<!-- /bench -->\n\n| | CPU, s | own |\n| --- | --- | --- |\n"+
		"| <a id=\"row-json\"></a>other | 1 | 2 |\n| <a id=\"row\"></a>JSON | old | old |\n\n| <a id=\"loose\"></a>no table | old |\n")
	pages := []string{first, second}
	figures := func(figure string) string { return map[string]string{"CPU, s": "new"}[figure] }
	for name, r := range map[string]report{"one": {text: "new"}, "two": {text: "new"}, "row": {cell: figures}} {
		if err := update(pages, name, r); err != nil {
			t.Error(err)
		}
	}
	for file, want := range map[string]string{
		first: "a\n<!-- bench:one -->\n\nnew\n<!-- /bench -->\nb\n<!-- bench:open -->\n",
		second: "<!-- bench:two -->\n\nnew\n<!-- /bench -->\n\n| | CPU, s | own |\n| --- | --- | --- |\n" +
			"| <a id=\"row-json\"></a>other | 1 | 2 |\n| <a id=\"row\"></a>JSON | new |  |\n\n| <a id=\"loose\"></a>no table | old |\n",
	} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", filepath.Base(file), got, err, want)
		}
	}
	for name, r := range map[string]report{"three": {text: "new"}, "open": {text: "new"}, "json": {cell: figures}, "loose": {cell: figures}} {
		if err := update(pages, name, r); err == nil || !strings.HasSuffix(err.Error(), " "+name) {
			t.Errorf("%s, which no page has: %v", name, err)
		}
	}
}

// The pages have a place for each section, and no figures that this command does not measure.
func TestPages(t *testing.T) {
	t.Chdir("../..")
	var want, got []string
	for _, s := range sections() {
		want = append(want, s.name)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		must.OK(t, err)
		for _, m := range regexp.MustCompile(`<!-- bench:(\S+) -->|(?m)^\| <a id="(\S+)"></a>`).FindAllSubmatch(text, -1) {
			got = append(got, string(m[1])+string(m[2]))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the pages have the figures of %v, want %v", got, want)
	}
}
