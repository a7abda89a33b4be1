package mutants

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// root is that of the module that is broken.
const root = "../../.."

// An Edit replaces text that is in a package exactly once, tests aside.
type Edit struct{ Old, By string }

// Overlay writes the file of a package with edits, which are all in that file, and returns the file
// for the flag -overlay of the go command. dir is relative to the root of the repository, and the
// test runs in a folder beside this one.
func Overlay(t testing.TB, dir string, edits ...Edit) string {
	t.Helper()
	path, text := source(t, dir, edits[0].Old)
	for _, e := range edits {
		if n := strings.Count(text, e.Old); n != 1 {
			t.Fatalf("%s has this %d times, want 1; bring the mutation up to date:\n%s", path, n, e.Old)
		}
		text = strings.Replace(text, e.Old, e.By, 1)
	}
	temporary := t.TempDir()
	mutant := filepath.Join(temporary, filepath.Base(path))
	spec, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutant}})
	must.OK(t, err)
	name := filepath.Join(temporary, "overlay.json")
	must.OK(t, errors.Join(os.WriteFile(mutant, []byte(text), 0o666), os.WriteFile(name, spec, 0o666)))
	return name
}

// source finds the file of a package that has a text.
func source(t testing.TB, dir, part string) (path, text string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	must.OK(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		must.OK(t, err)
		if !strings.Contains(string(src), part) {
			continue
		}
		if path != "" {
			t.Fatalf("%s and %s both have this; bring the mutation up to date:\n%s", path, name, part)
		}
		path, text = name, string(src)
	}
	if path == "" {
		t.Fatalf("no file of %s has this; bring the mutation up to date:\n%s", dir, part)
	}
	if path, err = filepath.Abs(path); err != nil {
		t.Fatal(err)
	}
	return path, text
}
