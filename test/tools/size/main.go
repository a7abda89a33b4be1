// Command size counts what a reader of this repository has in front of them: lines, exported names,
// words, modules, and what proves the rules (traces, rows of docs/states.md, mutations). It reads
// the files that git tracks.
package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "size: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	top, err := exec.CommandContext(context.Background(), "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	if err := os.Chdir(strings.TrimSpace(string(top))); err != nil {
		return err
	}
	out, err := exec.CommandContext(context.Background(), "git", "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("list the files of the repository: %w", err)
	}
	var files []string
	for file := range strings.SplitSeq(string(out), "\x00") {
		// A file that is deleted and not yet committed is still listed.
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	t := &tree{modules: map[string]bool{}, groups: map[string]*lines{}, names: map[string]int{}, folders: map[string]bool{}}
	for _, file := range files {
		if path.Base(file) == "go.mod" {
			t.modules[path.Dir(file)] = true
		}
	}
	for _, file := range files {
		if err := t.add(file); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
	}
	t.print()
	return nil
}

// tree is what was counted.
type tree struct {
	modules map[string]bool   // by the folder of their go.mod
	groups  map[string]*lines // by the first folder of a path
	root    lines             // of the root module without examples/
	heart   lines
	names   map[string]int  // exported top-level names of the root module, by package folder
	words   int             // of Markdown
	docs    int             // of them, in docs/
	folders map[string]bool // at the top, without those whose names begin with a dot
	direct  int             // modules that the root module requires directly

	traces, states, mutations, plants int
}

// heart are the packages of the mission, which import no others of the library.
var heart = []string{"protocol", "reflector", "deltafifo", "store", "object", "listwatch/source"}

type lines struct{ code, tests int }

func (t *tree) add(file string) error {
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		return err
	}
	if top, _, ok := strings.Cut(file, "/"); ok && !strings.HasPrefix(top, ".") {
		t.folders[top] = true
	}
	switch path.Ext(file) {
	case ".go":
		return t.addGo(file, text)
	case ".md":
		t.words += len(bytes.Fields(text))
		if strings.HasPrefix(file, "docs/") {
			t.docs += len(bytes.Fields(text))
		}
		if file == "docs/states.md" {
			t.states = rows(string(text))
		}
	case ".mod":
		if file == "go.mod" {
			return t.addRequirements(text)
		}
	case ".txt":
		if strings.HasPrefix(file, "testdata/") || strings.Contains(file, "/testdata/") {
			if bytes.HasPrefix(text, []byte("start")) || bytes.Contains(text, []byte("\nstart")) {
				t.traces++
			}
		}
	}
	return nil
}

func (t *tree) addGo(file string, text []byte) error {
	group, _, ok := strings.Cut(file, "/")
	if !ok {
		group = "."
	}
	counts := []*lines{t.group(group)}
	if t.module(file) == "." && group != "examples" {
		counts = append(counts, &t.root)
	}
	if slices.Contains(heart, path.Dir(file)) {
		counts = append(counts, &t.heart)
	}
	n := bytes.Count(text, []byte("\n"))
	test := strings.HasSuffix(file, "_test.go")
	for _, c := range counts {
		if test {
			c.tests += n
		} else {
			c.code += n
		}
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if path.Base(path.Dir(file)) == "mutants" {
		t.addMutants(parsed)
	}
	if !test && t.module(file) == "." && parsed.Name.Name != "main" && public(file) {
		t.names[path.Dir(file)] += exported(parsed)
	}
	return nil
}

func (t *tree) addRequirements(text []byte) error {
	parsed, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return err
	}
	for _, r := range parsed.Require {
		if !r.Indirect {
			t.direct++
		}
	}
	return nil
}

func (t *tree) group(name string) *lines {
	if t.groups[name] == nil {
		t.groups[name] = &lines{}
	}
	return t.groups[name]
}

func (t *tree) module(file string) string {
	dir := path.Dir(file)
	for dir != "." && !t.modules[dir] {
		dir = path.Dir(dir)
	}
	return dir
}

// addMutants counts the elements of slices of mutations and of plants.
func (t *tree) addMutants(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		list, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if array, ok := list.Type.(*ast.ArrayType); ok {
			switch element, _ := array.Elt.(*ast.Ident); {
			case element == nil:
			case element.Name == "mutation":
				t.mutations += len(list.Elts)
			case element.Name == "plant":
				t.plants += len(list.Elts)
			}
		}
		return true
	})
}

// public reports whether programs can import the package of a file, and are meant to.
func public(file string) bool {
	for folder := range strings.SplitSeq(path.Dir(file), "/") {
		if slices.Contains([]string{"internal", "docs", "examples", "cmd"}, folder) {
			return false
		}
	}
	return true
}

// exported counts exported types, functions, variables and constants. Methods and fields are not
// counted.
func exported(file *ast.File) int {
	n := 0
	count := func(name *ast.Ident) {
		if name.IsExported() {
			n++
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						count(name)
					}
				}
			}
		}
	}
	return n
}

// rows counts the rows of all tables of a page, without their headers.
func rows(page string) int {
	n := 0
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "| ---"):
			n-- // the line above is a header
		case strings.HasPrefix(line, "| "):
			n++
		}
	}
	return n
}

func (t *tree) print() {
	var all lines
	fmt.Printf("%-12s %8s %8s\n", "lines of Go", "code", "tests")
	for _, name := range slices.Sorted(maps.Keys(t.groups)) {
		g := t.groups[name]
		fmt.Printf("%-12s %8d %8d\n", name, g.code, g.tests)
		all.code += g.code
		all.tests += g.tests
	}
	fmt.Printf("%-12s %8d %8d  %s\n", "heart", t.heart.code, t.heart.tests, strings.Join(heart, ", "))
	fmt.Printf("%-12s %8d %8d  without examples\n", "root module", t.root.code, t.root.tests)
	fmt.Printf("%-12s %8d %8d\n\n", "all", all.code, all.tests)

	names := 0
	for _, n := range t.names {
		names += n
	}
	fmt.Printf("folders at the top                 %d\n", len(t.folders))
	fmt.Printf("direct requirements of go.mod      %d\n", t.direct)
	fmt.Printf("exported names of the root module  %d in %d packages, %d without protocol\n", names, len(t.names), names-t.names["protocol"])
	for _, dir := range slices.Sorted(maps.Keys(t.names)) {
		fmt.Printf("  %-24s %4d\n", dir, t.names[dir])
	}
	fmt.Printf("modules (go.mod)                   %d\n", len(t.modules))
	fmt.Printf("words of Markdown                  %d, %d of them in docs/\n", t.words, t.docs)
	fmt.Printf("golden traces                      %d\n", t.traces)
	fmt.Printf("rows of docs/states.md             %d\n", t.states)
	fmt.Printf("mutations, plants                  %d, %d\n", t.mutations, t.plants)
}
