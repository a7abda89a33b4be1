package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const knownProblems = 58

var (
	row      = regexp.MustCompile(`(?m)^\| (\d+) \| (.+) \| (.*) \|$`)
	shownBy  = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
	testName = regexp.MustCompile(`^(Test|Fuzz|Example)\w*$`)
)

// Each known problem has its row, which says where its solution can be seen: in a trace that is
// run, or in a test that is in the file.
func TestKnownProblemsAreShown(t *testing.T) {
	t.Chdir(root)
	rows := row.FindAllStringSubmatch(readText(t, "test/known-problems.md"), -1)
	if len(rows) != knownProblems {
		t.Errorf("the table has %d rows, want %d", len(rows), knownProblems)
	}
	for i, r := range rows {
		if number := fmt.Sprint(i + 1); r[1] != number {
			t.Errorf("row %s has the number %s", number, r[1])
		}
		links := shownBy.FindAllStringSubmatch(r[3], -1)
		if len(links) == 0 {
			t.Errorf("problem %s is shown by nothing", r[1])
		}
		for _, l := range links {
			checkShown(t, r[1], l[1], filepath.Join("test", l[2]))
		}
	}
}

// checkShown checks that a trace is among those that are run, or that a test is in its
// file.
func checkShown(t *testing.T, problem, name, file string) {
	t.Helper()
	switch {
	case len(glob(t, file)) == 0:
		t.Errorf("problem %s: dead link to %s", problem, file)
	case filepath.Ext(file) == ".txt":
		if file != filepath.Join("testdata", name+".txt") {
			t.Errorf("problem %s: %s is called %s", problem, file, name)
		}
	case !strings.HasSuffix(file, "_test.go") || !testName.MatchString(name):
		t.Errorf("problem %s: %s in %s is neither a trace nor a test", problem, name, file)
	case !strings.Contains(readText(t, file), "\nfunc "+name+"("):
		t.Errorf("problem %s: %s has no %s", problem, file, name)
	}
}

const bounds = 27

// Each bound names what is declared in its file, and tests that are there.
func TestBoundsAreShown(t *testing.T) {
	t.Chdir(root)
	_, section, _ := strings.Cut(readText(t, "docs/guarantees.md"), "\n## Limits\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || !strings.Contains(cells[2], "](") {
			continue
		}
		rows++
		place := shownBy.FindStringSubmatch(cells[2])
		declared := regexp.MustCompile(`(?m)^(\tfunc |func |const |\t)(\([^)]*\) )?` + place[1] + `\b`)
		if !declared.MatchString(readText(t, filepath.Join("docs", place[2]))) {
			t.Errorf("%s declares no %s", place[2], place[1])
		}
		links := shownBy.FindAllStringSubmatch(cells[3], -1)
		if len(links) == 0 {
			t.Errorf("nothing shows the bound of %s", cells[0])
		}
		for _, l := range links {
			checkShown(t, cells[0], l[1], filepath.Join("docs", l[2]))
		}
	}
	if rows != bounds {
		t.Errorf("the table has %d rows, want %d", rows, bounds)
	}
}
