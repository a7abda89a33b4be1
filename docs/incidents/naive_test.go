// Package incidents holds the tests of the pages beside it.
package incidents

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/relist-go/relist/docs/incidents/naive"
	"github.com/relist-go/relist/trace"
)

var _ = flag.Bool("update", false, "rewrite the observed lines of traces")

func TestTraceNaive(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt") // the patterns are right
	pairs, _ := filepath.Glob("testdata/beside/*.txt")
	if len(files) == 0 || len(pairs) == 0 {
		t.Fatal("no traces")
	}
	for _, name := range append(files, pairs...) {
		trace.Run(t, file{os.DirFS("."), name}, naive.Programs[parse(t, name).Program()])
	}
}

func parse(t *testing.T, name string) *trace.File {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := trace.Parse(name, src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// file is a file system with one file for trace.Run.
type file struct {
	fs.FS
	name string
}

func (f file) Glob(string) ([]string, error) { return []string{f.name}, nil }
