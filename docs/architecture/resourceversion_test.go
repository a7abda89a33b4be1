package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// versionFiles is how many files a resourceVersion may go through in the reflector, from a list to
// the next watch.
const versionFiles = 8

// versionMovers is how many files may assign a resume version.
const versionMovers = 4

// The reflector's part of the road of a resourceVersion is short, and nobody but those who are on
// the road moves the resume point.
func TestRoadOfAResourceVersion(t *testing.T) {
	var ours []string
	for _, f := range readRoad(t, "resourceversion").files() {
		if strings.HasPrefix(f, "reflector/") || strings.HasPrefix(f, "protocol/") {
			ours = append(ours, f)
		}
	}
	t.Logf("from a list to the next watch, a resourceVersion goes through %d files of the reflector and the machine:\n  %s", len(ours), strings.Join(ours, "\n  "))
	if len(ours) > versionFiles {
		t.Errorf("want %d at most", versionFiles)
	}
	holders, movers := []string{}, []string{}
	for file, tree := range parse(t, "reflector", "protocol", "informer", "deltafifo", "store") {
		if declares(tree, "position", "resume") {
			holders = append(holders, file)
		}
		if assigns(tree, "resume") {
			movers = append(movers, file)
		}
	}
	if len(holders) != 1 || !slices.Contains(ours, holders[0]) {
		t.Errorf("the resume version is held in %q, want one file of the road", holders)
	}
	// A list, an event or a bookmark moves it; a refusal of the sink takes a step back; and an
	// unsure key keeps one of its own.
	slices.Sort(movers)
	t.Logf("a resume version is assigned in %d files:\n  %s", len(movers), strings.Join(movers, "\n  "))
	if len(movers) > versionMovers {
		t.Errorf("want %d at most", versionMovers)
	}
	for _, file := range movers {
		if path.Dir(file) != "protocol" {
			t.Errorf("%s assigns the resume version, which only the machine may", file)
		}
	}
}

// parse returns the files of packages without their tests, by their path from the root of the
// module.
func parse(t *testing.T, packages ...string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, p := range packages {
		entries, err := os.ReadDir(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, p, e.Name()), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files[path.Join(p, e.Name())] = tree
		}
	}
	return files
}

// declares reports whether a file declares a struct with a field of this name.
func declares(file *ast.File, structName, field string) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != structName {
			return true
		}
		if fields, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range fields.Fields.List {
				for _, name := range f.Names {
					found = found || name.Name == field
				}
			}
		}
		return false
	})
	return found
}

// assigns reports whether a file assigns a field of this name.
func assigns(file *ast.File, field string) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		if assignment, ok := n.(*ast.AssignStmt); ok {
			for _, left := range assignment.Lhs {
				selector, ok := left.(*ast.SelectorExpr)
				found = found || ok && selector.Sel.Name == field
			}
		}
		return true
	})
	return found
}
