package docs

import (
	"bytes"
	"flag"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/chart"
	"github.com/relist-go/relist/internal/must"
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
		must.OK(t, err)
		recording, err := trace.Record(f, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := recording.SVG()
		if *update {
			must.OK(t, os.WriteFile(picture, got, 0o644))
		}
		if want, err := os.ReadFile(picture); err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s is not the picture of %s: run go test ./internal/docs -run TestPictures -update (%v)", picture, name, err)
		}
		if !strings.Contains(text.String(), "pictures/"+filepath.Base(picture)+")") {
			t.Errorf("no page shows %s", picture)
		}
	}
}

// TestListAndWatchPicture draws which request follows which answer, for docs/list-and-watch.md.
func TestListAndWatchPicture(t *testing.T) {
	t.Chdir(root)
	picture, err := chart.Graph("What follows a list and a watch", "go test ./internal/docs -run TestListAndWatchPicture -update", 600, 310,
		[]chart.Box{
			{Title: "List", Lines: []string{"at V, or at 0 first"}, Rectangle: image.Rect(20, 56, 200, 130)},
			{Title: "Watch", Lines: []string{"the events after V"}, Rectangle: image.Rect(400, 56, 580, 130)},
			{Title: "List", Lines: []string{"no resourceVersion"}, Rectangle: image.Rect(20, 226, 200, 300)},
		},
		[]chart.Arrow{
			{Path: "M110 12V56", Words: []string{"start"}, Base: image.Pt(120, 30)},
			{Path: "M200 80H400", Words: []string{"200, version V"}, Base: image.Pt(300, 70), Class: "middle"},
			{Path: "M400 106H200", Words: []string{"410, or 504 too large:", "list again, compare"}, Base: image.Pt(300, 126), Class: "middle"},
			{Path: "M110 130V226", Words: []string{"410, or 504 too large"}, Base: image.Pt(120, 186)},
			{Path: "M200 263H490V130", Words: []string{"200, version V"}, Base: image.Pt(300, 253), Class: "middle"},
			{Path: "M460 56V28H520V56", Words: []string{"stream ends: resume at V"}, Base: image.Pt(450, 24), Class: "right"},
		})
	must.OK(t, err)
	compareWith(t, "docs/list-and-watch.svg", picture)
}

// compareWith compares a picture with its file, which -update writes.
func compareWith(t *testing.T, file string, picture []byte) {
	t.Helper()
	if *update {
		must.OK(t, os.WriteFile(file, picture, 0o644))
	}
	if readText(t, file) != string(picture) {
		t.Errorf("%s is out of date: run go test ./internal/docs -run Picture -update", file)
	}
}
