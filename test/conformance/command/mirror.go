package command

import (
	"bytes"
	"encoding/json"
	"testing"
)

// Line is one line of -o json, with the fields that the tests look at.
type Line struct {
	Kind            string
	Type            string
	Key             string
	UID             string
	ResourceVersion string
	Inferred        bool
	Reason          string

	Objects           int
	Digest            string
	Lists             int
	Watches           int
	Relists           int
	InferredDeletions int
	CPUSeconds        float64
	PeakRSSBytes      int64
}

// Mirror is a running relist mirror, used by one goroutine.
type Mirror struct {
	*Command
	Lines []Line // that were looked at so far

	t      testing.TB
	parsed int // bytes of the output
}

// StartMirror runs relist mirror, with -o json if args do not say otherwise.
func StartMirror(t testing.TB, args ...string) *Mirror {
	t.Helper()
	return &Mirror{Command: Start(t, append([]string{"mirror", "-o", "json"}, args...)...), t: t}
}

// read parses the lines of out that were not there before.
func (m *Mirror) read(out []byte) {
	m.t.Helper()
	for {
		text, _, whole := bytes.Cut(out[m.parsed:], []byte("\n"))
		if !whole {
			return
		}
		var l Line
		if err := json.Unmarshal(text, &l); err != nil {
			m.t.Errorf("%s: %v", text, err)
		}
		m.Lines = append(m.Lines, l)
		m.parsed += len(text) + 1
	}
}

// AwaitLines waits until the history so far satisfies holds.
func (m *Mirror) AwaitLines(what string, holds func([]Line) bool) {
	m.t.Helper()
	m.Await(func(out []byte) (string, bool) {
		m.t.Helper()
		m.read(out)
		return what, holds(m.Lines)
	})
}

// Count returns how many lines satisfy is.
func Count(lines []Line, is func(Line) bool) int {
	n := 0
	for _, l := range lines {
		if is(l) {
			n++
		}
	}
	return n
}

// Kind is true of the lines of that kind.
func Kind(word string) func(Line) bool { return func(l Line) bool { return l.Kind == word } }

// Summary ends the command as Ctrl-C does, and returns its last line.
func (m *Mirror) Summary() Line {
	m.t.Helper()
	m.Interrupt()
	m.read(m.Stdout())
	last := m.Lines[len(m.Lines)-1]
	if last.Kind != "summary" {
		m.t.Fatalf("the last line is %+v, want a summary", last)
	}
	return last
}
