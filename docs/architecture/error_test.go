package architecture

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// An error is classified once: by the one file of the reflector that asks what it is. Above the
// reflector nobody asks, and below it only two files do, for things that the reflector never hears
// of.
func TestAnErrorIsClassifiedOnce(t *testing.T) {
	allowed := map[string]string{
		"reflector/reason.go":       "the one place",
		"listwatch/source/pager.go": "a continue token that has expired; the list continues",
		"listwatch/source/retry.go": "the watch of its own that a RetryWatcher is",
	}
	asked := map[string]bool{}
	files := parse(t, "transport", "listwatch", "listwatch/source", "reflector", "protocol", "deltafifo", "store", "informer", "object")
	for file, tree := range files {
		calls := classifications(tree)
		if len(calls) == 0 {
			continue
		}
		asked[file] = true
		slices.Sort(calls)
		t.Logf("%s asks by %s: %s", file, strings.Join(slices.Compact(calls), ", "), allowed[file])
		if allowed[file] == "" {
			t.Errorf("%s asks what an error is; the reflector has done that, or will", file)
		}
	}
	for file := range allowed {
		if !asked[file] {
			t.Errorf("%s asks nothing any more", file)
		}
	}
	if !slices.Contains(readRoad(t, "error").files(), "reflector/reason.go") {
		t.Error("error.txt does not name reflector/reason.go")
	}
}

// classifications returns the functions of apimachinery's package errors by which a file asks what
// an error is.
func classifications(file *ast.File) []string {
	name := ""
	for _, spec := range file.Imports {
		if spec.Path.Value != `"k8s.io/apimachinery/pkg/api/errors"` {
			continue
		}
		name = "errors"
		if spec.Name != nil {
			name = spec.Name.Name
		}
	}
	var calls []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := f.X.(*ast.Ident)
		if ok && name != "" && pkg.Name == name && (strings.HasPrefix(f.Sel.Name, "Is") || f.Sel.Name == "SuggestsClientDelay" || f.Sel.Name == "ReasonForError") {
			calls = append(calls, f.Sel.Name)
		}
		return true
	})
	return calls
}
