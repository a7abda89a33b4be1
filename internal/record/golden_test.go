package record

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
)

var update = flag.Bool("update", false, "rewrite the golden recordings")

// The recordings in testdata are those of expiry, as they are and scrubbed. They
// are traces: relist replay runs them.
func TestGolden(t *testing.T) {
	c := expiry(t)
	golden(t, "expired.txt", passes(t, c))
	golden(t, "expired-scrubbed.txt", passes(t, scrub(c)))
	golden(t, "expired.raw", string(c.raw()))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.OK(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	must.OK(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
