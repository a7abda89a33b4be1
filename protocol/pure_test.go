package protocol

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// A machine that a call moves has no goroutines, nor what they would talk by.
func TestMachineHasNoGoroutines(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	looked := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		looked++
		parsed, err := parser.ParseFile(set, file.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%s: a goroutine or a channel", set.Position(n.Pos()))
			}
			return true
		})
	}
	if looked < 10 {
		t.Errorf("looked into %d files, want all of the package", looked)
	}
}
