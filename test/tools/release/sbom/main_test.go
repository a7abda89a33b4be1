package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The document of a program that was just built names it, the standard library, and every
// module that `go version -m` names.
func TestDocumentOfAProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "relist")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/relist")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	document := filepath.Join(t.TempDir(), "relist.cdx.json")
	if err := write(program, document); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if c := b.Metadata.Component; c.Name != "relist" || !strings.HasPrefix(c.PURL, "pkg:golang/github.com/relist-go/relist@") || len(c.Hashes[0].Content) != 64 {
		t.Errorf("the program is %+v", c)
	}
	versions, err := exec.CommandContext(t.Context(), "go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go")}
	for line := range strings.Lines(string(versions)) {
		if fields := strings.Fields(line); len(fields) == 4 && fields[0] == "dep" {
			want = append(want, "pkg:golang/"+fields[1]+"@"+fields[2])
		}
	}
	if len(want) < 5 || len(b.Components) != len(want) {
		t.Fatalf("%d components, want %d", len(b.Components), len(want))
	}
	for i, c := range b.Components {
		if c.PURL != want[i] || c.Type != "library" {
			t.Errorf("component %d is %+v, want %s", i, c, want[i])
		}
	}
	if len(b.Dependencies) != len(want)+1 || len(b.Dependencies[0].DependsOn) != len(want) {
		t.Errorf("%d dependencies", len(b.Dependencies))
	}
}

func TestWhatIsNoProgramIsRefused(t *testing.T) {
	if err := write("main.go", filepath.Join(t.TempDir(), "x")); err == nil {
		t.Error("a text has a document")
	}
}
