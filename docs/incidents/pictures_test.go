package incidents

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/trace"
)

// Each page shows its conversations as sequence diagrams, too. With -update, this test draws them.
// Those of the naive clients are drawn from their files, because TestTraceNaive sees that the files
// say what the clients do.
func TestPictures(t *testing.T) {
	naive, _ := filepath.Glob("testdata/*.txt") // the pattern is right
	relist, _ := filepath.Glob("../../testdata/incident-*.txt")
	if len(naive) == 0 || len(relist) == 0 {
		t.Fatal("no traces")
	}
	for _, name := range append(naive, relist...) {
		f := parse(t, name)
		recording := trace.Transcript(f)
		if strings.HasPrefix(name, "..") {
			var err error
			if recording, err = trace.Record(f, nil); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
		}
		got := recording.SVG()
		picture := "pictures/" + strings.TrimSuffix(filepath.Base(name), ".txt") + ".svg"
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(picture, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(picture); err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s is not the picture of %s: run go test ./docs/incidents -update (%v)", picture, name, err)
		}
		if !shown(t, picture) {
			t.Errorf("no page shows %s", picture)
		}
	}
}

// shown reports whether a page shows a picture.
func shown(t *testing.T, picture string) bool {
	t.Helper()
	pages, _ := filepath.Glob("*.md") // the pattern is right
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("]("+picture+")")) {
			return true
		}
	}
	return false
}
