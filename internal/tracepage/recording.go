// Package tracepage shows a run of a trace: as a sequence diagram in SVG, and as a page in HTML
// that steps through it.
//
// A [Recording] is the lines of a run, and what a recorder saw in the client after each stimulus.
// Without a recorder, there are only the lines, and the page shows the wire alone.
package tracepage

import (
	"strings"
	"time"

	"github.com/relist-go/relist/internal/target"
)

// Recording is a run, ready to be shown.
type Recording struct {
	Name    string   `json:"name"`
	Purpose []string `json:"purpose"` // the comment at the top, a paragraph each
	Program string   `json:"program"`
	Failure string   `json:"failure,omitempty"` // how the run differs from its file; "" if it does not
	Machine bool     `json:"machine"`           // the steps say what the machine of the reflector did
	Differs int      `json:"differs"`           // the step of the first difference
	Steps   []Step   `json:"steps"`
	Marks   []Mark   `json:"marks"`

	spans []span
}

// Step is one stimulus: a line of the author, and what came of it.
type Step struct {
	Line  int      `json:"line"`
	Text  []string `json:"text"` // the stimulus, and the objects of a list below it
	Note  string   `json:"note,omitempty"`
	Came  []string `json:"came"`  // the lines of the run
	Calls []string `json:"calls"` // the callbacks that an informer would make for the entries that were taken
	At    string   `json:"at"`    // the virtual time at the end of the step
	Moment
}

// Moment is what a recorder saw in one step: what the machine did, and what the client had after
// it.
type Moment struct {
	Rows  []Row    `json:"rows,omitempty"`
	State *State   `json:"state,omitempty"` // nil without a machine
	Queue []string `json:"queue,omitempty"`
	Store []string `json:"store,omitempty"`

	// Of a trace for two programs: why the server did not send the line to this one, what the
	// server has, which request of the client is open, and whether a watch is.
	Unasked string   `json:"unasked,omitempty"`
	Server  []string `json:"server,omitempty"`
	Open    string   `json:"open,omitempty"`
	Watches bool     `json:"watches,omitempty"`

	End time.Duration `json:"-"` // since the start of the run
}

// State is the machine after a step.
type State struct {
	Phase      string   `json:"phase"` // a word of the drawing of states, or "stopped"
	Resume     string   `json:"resume"`
	Backoff    string   `json:"backoff,omitempty"`
	Failing    string   `json:"failing,omitempty"` // since when
	Synced     bool     `json:"synced"`
	Quarantine []string `json:"quarantine,omitempty"`
}

// New makes a Recording of the lines of a run. name is that of the file; its folder and ending are
// left out. moments has one element for each stimulus that was played, or is nil.
func New(name string, lines []string, moments []Moment) *Recording {
	name = strings.TrimSuffix(name[strings.LastIndexAny(name, `/\`)+1:], ".txt")
	r := &Recording{Name: name, Purpose: []string{}, Machine: len(moments) > 0 && moments[0].State != nil}
	b := &builder{Recording: r, versions: map[string]string{}}
	var note []string
	for i, text := range lines {
		switch {
		case text == "" || text[0] == '#':
			if text = strings.TrimSpace(strings.TrimPrefix(text, "#")); len(r.Steps) > 0 || !heading(text) {
				note = append(note, text)
			}
			continue
		case text[0] == '\t':
			b.item(text[1:])
			continue
		case strings.IndexByte(">=!~", text[0]) >= 0:
			b.came(text, lines[i+1:])
			continue
		case len(r.Steps) == 0:
			r.Purpose, note = paragraphs(note), nil
		}
		var moment Moment
		if at := len(r.Steps); at < len(moments) {
			moment = moments[at]
		}
		b.begin(Step{
			Line: i + 1, Text: []string{text}, Note: strings.TrimSpace(strings.Join(note, " ")),
			Came: []string{}, Calls: []string{}, Moment: moment,
		})
		note = nil
	}
	b.end()
	b.closeSpans()
	for i := 1; i < len(r.Marks); i++ {
		if m, before := &r.Marks[i], r.Marks[i-1]; m.at == before.at {
			m.At = before.At
		} else if m.At == Clock(before.at) { // the digits that tell the two apart
			m.At = target.Duration(m.at.Round(time.Millisecond))
		}
	}
	return r
}

// heading reports whether a comment has a meaning to tools.
func heading(text string) bool {
	name, _, _ := strings.Cut(text, ": ")
	return name == "program" || name == "differs" || name == "beside" || name == "server"
}

// paragraphs returns the paragraphs of a comment, a line each.
func paragraphs(comment []string) []string {
	all := []string{}
	for paragraph := range strings.SplitSeq(strings.Join(comment, "\n"), "\n\n") {
		if text := strings.TrimSpace(strings.ReplaceAll(paragraph, "\n", " ")); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// Clock returns a virtual time as a reader wants it: at most two units, and no more digits than
// tell something.
func Clock(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d >= time.Hour:
		d = d.Round(time.Minute)
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Millisecond)
	}
	return target.Duration(d)
}
