package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

var (
	place     = regexp.MustCompile("\\[`(\\w+)`\\]\\(\\.\\./([^)\\s]+\\.go)\\)")
	inSection = regexp.MustCompile(`^\[[\w ]+\]\(\.\./server/README\.md#[\w-]+\)$`)
	quoted    = regexp.MustCompile("`([^`]+)`")
)

// Each row of docs/names.md leads to declarations that are there, or to a section that explains the
// name, and the names that articles quote are among them.
func TestNamesOfOtherClients(t *testing.T) {
	t.Chdir(root)
	page, _, _ := strings.Cut(readText(t, "docs/names.md"), "\n## What became of")
	named := map[string]bool{}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 || strings.HasPrefix(line, "| name") || strings.HasPrefix(line, "| ---") {
			continue
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[0], -1) {
			named[name[1]] = true
			for part := range strings.SplitSeq(name[1], ".") {
				named[part] = true
			}
		}
		places := place.FindAllStringSubmatch(cells[2], -1)
		if len(places) == 0 && !inSection.MatchString(strings.TrimSuffix(cells[2], " |")) {
			t.Errorf("this row leads nowhere: %s", line)
		}
		for _, p := range places {
			if symbol, file := p[1], p[2]; !declared(t, file, symbol) {
				t.Errorf("%s declares no %s", file, symbol)
			}
		}
	}
	for line := range strings.Lines(readText(t, "internal/docs/testdata/names.txt")) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for name := range strings.SplitSeq(strings.TrimRight(line, ",\n"), ", ") {
			if name != "" && !named[name] {
				t.Errorf("docs/names.md has no row for %s", name)
			}
		}
	}
}

// declared reports whether a file declares a function, a method, a type, a constant, a variable or
// a field of that name.
func declared(t *testing.T, file, name string) bool {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), nil, parser.SkipObjectResolution)
	must.OK(t, err)
	found := false
	ast.Inspect(tree, func(n ast.Node) bool {
		var names []*ast.Ident
		switch n := n.(type) {
		case *ast.FuncDecl:
			found = found || n.Name.Name == name
			return false
		case *ast.TypeSpec:
			names = []*ast.Ident{n.Name}
		case *ast.ValueSpec:
			names = n.Names
		case *ast.Field:
			names = n.Names
		}
		for _, id := range names {
			found = found || id.Name == name
		}
		return true
	})
	return found
}
