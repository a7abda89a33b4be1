package trace

import (
	"os"
	"strings"
	"testing"
)

// The trace in docs/reading-traces.md is a real one.
func TestTraceOfDocument(t *testing.T) {
	const name = "../docs/reading-traces.md"
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(src), "```trace\n")
	text, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatalf("%s has no trace between ```trace and ```", name)
	}
	f, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Replay(f, Mirror, nil); err != nil {
		t.Error(err)
	}
}
