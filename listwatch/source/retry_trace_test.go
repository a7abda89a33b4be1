package source_test

import (
	"flag"
	"os"
	"testing"

	"github.com/relist-go/relist/trace"
)

var _ = flag.Bool("update", false, "rewrite the observed lines of traces")

// The traces of a RetryWatcher begin with a list, as its users do. Their headings
// name the program.
func TestTraceRetryWatcher(t *testing.T) {
	trace.Run(t, os.DirFS("../../testdata/retrywatcher"), nil)
}

func TestTraceRetryWatcherBookmarks(t *testing.T) {
	trace.Run(t, os.DirFS("../../testdata/retrywatcher/bookmarks"), nil)
}
