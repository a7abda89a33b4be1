package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestReplaceSection(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	first := write("first.md", "a\n<!-- bench:one -->\nold\n<!-- /bench -->\nb\n<!-- bench:open -->\n")
	second := write("second.md", "<!-- bench:two -->\n<!-- /bench -->\n<!-- bench:one -->\nold\n<!-- /bench -->\n")
	pages := []string{first, second}
	for _, name := range []string{"one", "two"} {
		if err := replaceSection(pages, name, "new"); err != nil {
			t.Error(err)
		}
	}
	for file, want := range map[string]string{
		first:  "a\n<!-- bench:one -->\n\nnew\n<!-- /bench -->\nb\n<!-- bench:open -->\n",
		second: "<!-- bench:two -->\n\nnew\n<!-- /bench -->\n<!-- bench:one -->\nold\n<!-- /bench -->\n",
	} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", filepath.Base(file), got, err, want)
		}
	}
	for _, name := range []string{"three", "open"} {
		if err := replaceSection(pages, name, "new"); err == nil || !strings.Contains(err.Error(), "<!-- bench:"+name+" -->") {
			t.Errorf("%s, which no page has: %v", name, err)
		}
	}
}

func TestWithoutDetails(t *testing.T) {
	const text = "| | relist | received, MB |\n| CPU, s | 1 |\n| allocated, MB | 2 |\n| own | 3 |\n\nMedian of 5.\n"
	if got, want := withoutDetails(text), strings.Replace(text, "| allocated, MB | 2 |\n", "", 1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The pages have a place for each section, and no table that this command does not measure.
func TestPages(t *testing.T) {
	t.Chdir("../..")
	var want, got []string
	for _, s := range sections() {
		want = append(want, s.name)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`<!-- bench:(\S+) -->`).FindAllSubmatch(text, -1) {
			got = append(got, string(m[1]))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the pages have the tables %v, want %v", got, want)
	}
}
