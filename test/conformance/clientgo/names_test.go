package clientgo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// without are the exported types of tools/cache and tools/watch that have no counterpart here, and
// why.
var without = map[string]string{
	"AppendFunc": "lists are slices", "KeyError": "a key cannot fail: an object has a name",
	"ExpirationCache": "objects do not expire", "ExpirationPolicy": "objects do not expire", "FakeExpirationPolicy": "objects do not expire",
	"TTLPolicy": "objects do not expire", "TimestampedEntry": "objects do not expire",
	"FIFO": "one queue is enough", "Heap": "keys have no priority", "LessFunc": "keys have no priority", "UndeltaStore": "a sink is told of changes",
	"FakeCustomStore": "a fake", "InformerName": "the program names its metrics", "InformerNameAndResource": "the program names its metrics",
	"Object": "any", "StoreOption": "one struct of options", "ThreadSafeStoreOption": "one struct of options",
	"ThreadSafeStoreTransaction": "a list is applied by Replace, and a change by itself", "ThreadSafeStoreWithTransaction": "the same",
	"Transaction": "the same", "TransactionError": "the same", "TransactionStore": "the same", "TransactionType": "the same",
}

// TestNames compares docs/names.md with client-go's source.
func TestNames(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/names.md")
	must.OK(t, err)
	named := map[string]bool{}
	for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(string(page), -1) {
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(quoted, -1) {
			named[word] = true
		}
	}
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/client-go").Output()
	must.OK(t, err)
	types := 0
	for _, name := range []string{"cache", "watch"} {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "tools", name, "*.go"))
		must.OK(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, exported := range exportedTypes(t, file) {
				switch types++; {
				case named[exported] && without[exported] != "":
					t.Errorf("docs/names.md has %s, which has no counterpart: %s", exported, without[exported])
				case !named[exported] && without[exported] == "":
					t.Errorf("docs/names.md has no row for %s of tools/%s", exported, name)
				}
			}
		}
	}
	if types < 100 {
		t.Errorf("client-go has %d exported types, which is too few to be true", types)
	}
}

func exportedTypes(t *testing.T, file string) (names []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	must.OK(t, err)
	for _, decl := range tree.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			if name := spec.(*ast.TypeSpec).Name.Name; ast.IsExported(name) {
				names = append(names, name)
			}
		}
	}
	return names
}
