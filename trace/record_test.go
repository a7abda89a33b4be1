package trace

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

func parsed(t *testing.T, name string) *File {
	t.Helper()
	src, err := os.ReadFile(name)
	must.OK(t, err)
	f, err := Parse(name, src)
	must.OK(t, err)
	return f
}

// A recording has what the machine, the queue and the store had after each step.
func TestRecord(t *testing.T) {
	r, err := Record(parsed(t, "../testdata/expired.txt"), nil)
	must.OK(t, err)
	for _, step := range r.page.Steps {
		if !strings.HasPrefix(step.Text[0], "< ERROR") {
			continue
		}
		s := step.State
		if s.Phase != "waiting" || s.Resume != "160" || s.Backoff != "800ms (expired)" || s.Failing != "0s" {
			t.Errorf("after the ERROR, the machine is %+v", s)
		}
		if row := step.Rows[0]; row.From != "watching" || row.Input != "the watch ends: 410, expired" || row.Next != "waiting" ||
			row.Effects != "close the request (expired); relist (expired); backoff 800ms (expired)" &&
				row.Effects != "relist (expired); backoff 800ms (expired)" {
			t.Errorf("the reason is %+v", row)
		}
		if queue := strings.Join(step.Queue, ","); queue != "default/b Deleted@160" || len(step.Store) != 4 {
			t.Errorf("the queue has %q, and the store %q", queue, step.Store)
		}
		return
	}
	t.Error("no step has the ERROR")
}

// A run that differs can be looked at, too: its page has the run and the difference.
func TestRecordOfAFailure(t *testing.T) {
	f := parsed(t, "../testdata/expired.txt")
	f, err := Parse("changed", bytes.Replace(format(f), []byte("BOOKMARK @150"), []byte("BOOKMARK @151"), 1))
	must.OK(t, err)
	r, err := Record(f, nil)
	if failure := (*Failure)(nil); !errors.As(err, &failure) {
		t.Fatalf("the error is %v", err)
	}
	if page := string(r.HTML()); !strings.Contains(page, `"failure":"`) || !strings.Contains(page, "resourceVersion=151") || !strings.Contains(page, `"differs":10,`) {
		t.Error("the page lacks the difference, its step or the run")
	}
	rec := &recorder{}
	rec.leave(t, f, f.texts(), err)
	if _, err := os.Stat(filepath.Join(t.ArtifactDir(), "trace.html")); err != nil {
		t.Error(err)
	}
}

// Whatever a trace has in it, its drawing is XML, and nothing in its page ends the script or begins
// a comment.
func TestPicturesOfAllTraces(t *testing.T) {
	names, err := filepath.Glob("../testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal("no traces", err)
	}
	for _, name := range names {
		r := Transcript(parsed(t, name))
		d := xml.NewDecoder(bytes.NewReader(r.SVG()))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: the drawing is no XML: %v", name, err)
				break
			}
		}
		if n := bytes.Count(r.HTML(), []byte("</script")); n != 2 {
			t.Errorf("%s: the page has %d ends of a script", name, n)
		}
	}
	f, err := Parse("hostile", []byte("# </script><!--\nstart\n< refuse\n< 200 body \"text/plain\" \"</script><script>alert(1)</script>\\x01\\xff\"\n"))
	must.OK(t, err)
	if n := bytes.Count(Transcript(f).HTML(), []byte("<script>alert")); n != 0 {
		t.Error("a trace can bring a script into its page")
	}
}
