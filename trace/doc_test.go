package trace

import (
	"os"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// The trace in docs/reading-traces.md is a real one.
func TestTraceOfDocument(t *testing.T) {
	const name = "../docs/reading-traces.md"
	src, err := os.ReadFile(name)
	must.OK(t, err)
	_, rest, _ := strings.Cut(string(src), "```trace\n")
	text, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatalf("%s has no trace between ```trace and ```", name)
	}
	f, err := Parse(name, []byte(text))
	must.OK(t, err)
	if _, err := Replay(f, Mirror, nil); err != nil {
		t.Error(err)
	}
}
