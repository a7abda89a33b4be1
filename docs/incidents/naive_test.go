// Package incidents holds the tests of the pages beside it.
package incidents

import (
	"flag"
	"io/fs"
	"os"
	"testing"

	"github.com/relist-go/relist/docs/incidents/naive"
	"github.com/relist-go/relist/trace"
)

var _ = flag.Bool("update", false, "rewrite the observed lines of traces")

func TestTraceNaive(t *testing.T) {
	for name, program := range map[string]string{
		"last-seen":  "naive-last-seen",
		"forgetful":  "naive-forgetful",
		"restarting": "naive-restarting",
		"insistent":  "naive-insistent",
		"idle":       "naive-without-bookmarks",
		"on-a-timer": "naive-on-a-timer",
		"list-event": "naive-last-seen",
		"delayed":    "naive-delayed",
		"timeout":    "naive-with-timeout",
		"slow":       "naive-slow",
		"swapped":    "naive-swapped",
		"ghost":      "naive-without-bookmarks",
	} {
		trace.Run(t, file{os.DirFS("testdata"), name + ".txt"}, naive.Programs[program])
	}
}

// file is a file system with one file for trace.Run.
type file struct {
	fs.FS
	name string
}

func (f file) Glob(string) ([]string, error) { return []string{f.name}, nil }
