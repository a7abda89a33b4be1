package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// TestOptionsAreDocumented looks for a doc comment at every exported field of every exported struct
// that configures something: the guides show the options that a task needs, and the comments are
// the reference of all.
func TestOptionsAreDocumented(t *testing.T) {
	t.Chdir(root)
	found := 0
	for _, file := range publicFiles(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		must.OK(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() || !configures(spec.Name.Name) {
				return true
			}
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			found++
			var above string // a comment may be about several fields, if it names them
			for _, field := range body.Fields.List {
				if field.Doc != nil {
					above = field.Doc.Text()
				}
				for _, name := range field.Names {
					if name.IsExported() && field.Doc == nil && field.Comment == nil && !strings.Contains(above, name.Name) {
						t.Errorf("%s: %s.%s has no comment", file, spec.Name, name)
					}
				}
			}
			return false
		})
	}
	if found < 10 {
		t.Errorf("found %d structs of options", found)
	}
}

func configures(name string) bool {
	return strings.HasSuffix(name, "Options") || strings.HasSuffix(name, "Config") || name == "Handler"
}

// private are the folders whose packages programs cannot import, or are not meant to.
var private = []string{"bin", "dist", "internal", "cmd", "examples", "test", "testdata", "docs"}

// publicFiles are the Go files of packages that programs can import.
func publicFiles(t *testing.T) (files []string) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case entry.IsDir() && path != "." && (strings.HasPrefix(name, ".") || slices.Contains(private, name)):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			files = append(files, path)
		}
		return nil
	})
	must.OK(t, err)
	return files
}
