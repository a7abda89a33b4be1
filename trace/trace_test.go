package trace_test

import (
	"flag"
	"os"
	"testing"

	"github.com/relist-go/relist/trace"
)

var _ = flag.Bool("update", false, "rewrite the observed lines of traces")

func TestTrace(t *testing.T) {
	trace.Run(t, os.DirFS("../testdata"), trace.Mirror)
}
