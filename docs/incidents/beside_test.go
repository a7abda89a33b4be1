package incidents

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/docs/incidents/naive"
	"github.com/relist-go/relist/trace"
)

// A page that shows a naive client beside relist says what the client lacks in the end, and where
// it goes wrong. relist lacks nothing, whatever the server does.
func TestBeside(t *testing.T) {
	wants := map[string]struct {
		step  int
		lost  bool
		naive string
		sent  [2]string // by each
	}{
		"1-idle-websocket": {14, true, "naive-forgetful has executor-1, which the server no longer has", [2]string{"0 for lists and 3 for watches, 1", "2 for lists and 4 for watches, 2"}},
		"2-closed-channel": {8, true, "naive-restarting has b, which the server no longer has", [2]string{"0 for lists and 6 for watches, 3", "1 for lists and 4 for watches, 1"}},
		"3-ghost":          {10, true, "naive-list-at-zero has build-42, which the server no longer has", [2]string{"2 for lists and 3 for watches, 1", "3 for lists and 3 for watches, 2"}},
		"3-too-large":      {10, true, "naive-insistent has token at 158000000, which is now at 159129900, and has no watch, so it will hear of no change", [2]string{"5 for lists and 1 for watches, 3", "3 for lists and 3 for watches, 2"}},
		"4-idle-resource":  {5, false, "naive-without-bookmarks has lost nothing, but has asked for more", [2]string{"2 for lists and 3 for watches, 1", "1 for lists and 2 for watches, 0"}},
		"5-tombstone":      {13, true, "naive-ignored-deletion has build-42, which the server no longer has", [2]string{"2 for lists and 3 for watches, 1", "2 for lists and 3 for watches, 1"}},
		"6-initial-events": {5, true, "naive-patient lacks web-1, and lacks web-2", [2]string{"0 for lists and 1 for watches, 0", "1 for lists and 2 for watches, 0"}},
	}
	files, _ := filepath.Glob("testdata/beside/*.txt") // the pattern is right
	if len(files) != len(wants) {
		t.Errorf("there are %d files, want %d", len(files), len(wants))
	}
	for _, name := range files {
		f := parse(t, name)
		recording, err := trace.Record(f, naive.Programs[f.Program()])
		if err != nil {
			t.Fatal(err)
		}
		want := wants[strings.TrimSuffix(filepath.Base(name), ".txt")]
		page, data := string(recording.HTML()), fmt.Sprintf(`"mark":%d,"lost":%t,"verdict":["At the end, %s.","At the end, relist has what the server has."],"requests":"Requests of %s: %s refused. Requests of relist: %s refused."`,
			want.step-1, want.lost, want.naive, f.Program(), want.sent[0], want.sent[1])
		if !strings.Contains(page, data) {
			t.Errorf("%s: the page has %s\nand not\n%s", name, page[strings.LastIndex(page, `"mark":`):strings.LastIndex(page, "</script>\n<script>")], data)
		}
	}
}
