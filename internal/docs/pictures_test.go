package docs

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/trace"
)

var update = flag.Bool("update", false, "draw the pictures of the pages again")

// A picture in docs/pictures is the drawing of the golden trace with its name, and a page shows it.
// The incidents have a test of their own, because some of their traces are of other clients.
func TestPictures(t *testing.T) {
	t.Chdir(root)
	pictures, err := filepath.Glob("docs/pictures/*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("no pictures: %v", err)
	}
	var text strings.Builder
	for _, page := range pages(t) {
		text.WriteString(readText(t, page))
	}
	for _, picture := range pictures {
		name := "testdata/" + strings.TrimSuffix(filepath.Base(picture), ".svg") + ".txt"
		f, err := trace.Parse(name, []byte(readText(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		recording, err := trace.Record(f, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := recording.SVG()
		if *update {
			if err := os.WriteFile(picture, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(picture); err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s is not the picture of %s: run go test ./internal/docs -run TestPictures -update (%v)", picture, name, err)
		}
		if !strings.Contains(text.String(), "pictures/"+filepath.Base(picture)+")") {
			t.Errorf("no page shows %s", picture)
		}
	}
}
