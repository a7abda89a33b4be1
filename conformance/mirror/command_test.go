package mirror

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/relist-go/relist/conformance/command"
)

func TestMain(m *testing.M) { command.Main(m) }

// line is one line of -o json, with the fields that the tests look at.
type line struct {
	Kind            string
	Type            string
	Key             string
	UID             string
	ResourceVersion string
	Inferred        bool
	Reason          string
	Class           string
	Message         string
	Seconds         float64

	Objects      int
	Digest       string
	Lists        int
	Watches      int
	Relists      int
	Tombstones   int
	SyncSeconds  float64
	CPUSeconds   float64
	PeakRSSBytes int64
}

// mirror is a running relist mirror, used by one goroutine.
type mirror struct {
	*command.Command
	t      *testing.T
	parsed int // bytes of the output
	lines  []line
}

// start runs relist mirror, with -o json if args do not say otherwise.
func start(t *testing.T, args ...string) *mirror {
	t.Helper()
	return &mirror{Command: command.Start(t, append([]string{"mirror", "-o", "json"}, args...)...), t: t}
}

// read parses the lines of out that were not there before.
func (m *mirror) read(out []byte) {
	m.t.Helper()
	for {
		text, _, whole := bytes.Cut(out[m.parsed:], []byte("\n"))
		if !whole {
			return
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			m.t.Errorf("%s: %v", text, err)
		}
		m.lines = append(m.lines, l)
		m.parsed += len(text) + 1
	}
}

// await waits until the history so far satisfies holds.
func (m *mirror) await(what string, holds func([]line) bool) {
	m.t.Helper()
	m.Await(func(out []byte) (string, bool) {
		m.t.Helper()
		m.read(out)
		return what, holds(m.lines)
	})
}

// count returns how many lines satisfy is.
func count(lines []line, is func(line) bool) int {
	n := 0
	for _, l := range lines {
		if is(l) {
			n++
		}
	}
	return n
}

func kind(word string) func(line) bool { return func(l line) bool { return l.Kind == word } }

// interrupt ends the command as Ctrl-C does, and returns its summary.
func (m *mirror) interrupt() line {
	m.t.Helper()
	m.Interrupt()
	m.read(m.Stdout())
	last := m.lines[len(m.lines)-1]
	if last.Kind != "summary" {
		m.t.Fatalf("the last line is %+v, want a summary", last)
	}
	return last
}
