package trace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
)

// A line goes to a client that has asked for it, as from a server. The lines that both clients get
// are not here: they are in the traces of docs/incidents/testdata/beside.
func TestLinesThatNobodyAskedFor(t *testing.T) {
	const text = `# beside: retrywatcher
start
< 200 watch
< eof
< ADDED a@90
< 504 Timeout "Too large resource version: 200, current: 100"
< 200 list rv=100
	a@90
< 200 list rv=101
< 200 watch
< 410 Expired "too old resource version: 100 (400)"
< ADDED a@100
< DELETED a@101
< BOOKMARK @102
< MODIFIED b@101
< raw "no event\n"
< cut
< wire "no chunk"
`
	f, err := Parse("f.txt", []byte(text))
	must.OK(t, err)
	got, err := Record(f, nil)
	if got == nil {
		t.Fatal(err) // it differs from the file, which has no line of a client
	}
	var sent []string
	for _, step := range got.beside.Steps {
		sent = append(sent, step.Text[0]+": "+step.Unasked)
	}
	want := []string{
		"start: ",
		"< 200 watch: it has asked for a list",
		"< eof: it has asked for a list",
		"< ADDED a@90: it has asked for a list",
		`< 504 Timeout "Too large resource version: 200, current: 100": it does not ask for version 200`,
		"< 200 list rv=100: ",
		"< 200 list rv=101: it has asked for a watch",
		"< 200 watch: ",
		`< 410 Expired "too old resource version: 100 (400)": its watch is open`,
		"< ADDED a@100: its watch brings what is newer than 100",
		"< DELETED a@101: ",
		"< BOOKMARK @102: ",
		"< MODIFIED b@101: its watch brings what is newer than 101",
		`< raw "no event\n": `,
		"< cut: it has no request open",
		`< wire "no chunk": it has no request open`,
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
	f, err = Parse("f.txt", []byte(strings.Replace(text, "retrywatcher", "fly", 1)))
	must.OK(t, err)
	if _, err := Record(f, nil); err == nil || err.Error() != `f.txt: package trace has no program "fly" to play beside` {
		t.Error(err)
	}
	f, err = Parse("f.txt", []byte(strings.Replace(text, "start", "start encoding=protobuf", 1)))
	must.OK(t, err)
	if _, err := Record(f, nil); err == nil || !strings.Contains(err.Error(), "f.txt:2: start: who has asked") {
		t.Error(err)
	}
}
