package report

import (
	"fmt"
	"strings"

	"github.com/relist-go/relist/internal/visible"
)

// Fault says that something is about to be broken on purpose.
type Fault struct {
	Name    string `json:"name"`
	Message string `json:"message"` // what is done
}

// Recovered says that a fault was met, and that the mirror is live again.
type Recovered struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // since the fault
	Message string  `json:"message,omitempty"`
}

// Result is how a demonstration ended.
type Result struct {
	Interrupted     bool         `json:"interrupted,omitempty"` // it ended early, so that nothing was compared
	Matches         bool         `json:"matches"`               // the mirror and the server
	Differences     []string     `json:"differences,omitempty"`
	Faults          []FaultState `json:"faults"`
	Objects         int          `json:"objects"`
	Lists           int          `json:"lists"`
	Watches         int          `json:"watches"`
	Bookmarks       int          `json:"bookmarks"`
	Expired         int          `json:"expired"`  // answers 410: in a stream, as a status, to a list, to a continue token
	TooLarge        int          `json:"tooLarge"` // answers "Too large resource version"
	Tombstones      int          `json:"tombstones"`
	Events          int          `json:"events"`
	EventsPerSecond float64      `json:"eventsPerSecond"`
	LagP50Seconds   float64      `json:"lagP50Seconds"` // from the commit in the server to the store of the mirror
	LagP99Seconds   float64      `json:"lagP99Seconds"`
}

// FaultState is a fault, and whether it was met.
type FaultState struct {
	Name    string  `json:"name"`
	Met     bool    `json:"met"`
	Seconds float64 `json:"seconds"` // from the fault until the mirror was live again
}

// Kind is "fault".
func (Fault) Kind() string { return "fault" }

// Kind is "recovered".
func (Recovered) Kind() string { return "recovered" }

// Kind is "result".
func (Result) Kind() string { return "result" }

// Text implements [Line].
func (f Fault) Text() string { return f.Name + ": " + f.Message }

// Text implements [Line].
func (r Recovered) Text() string {
	text := r.Name + ", live again after " + short(r.Seconds)
	if r.Message != "" {
		text += " (" + r.Message + ")"
	}
	return text
}

// Text implements [Line].
func (r Result) Text() string {
	var b strings.Builder
	rows := make([]Row, 0, len(r.Faults))
	for _, f := range r.Faults {
		state := "NOT MET"
		switch {
		case f.Met:
			state = "met, live again after " + short(f.Seconds)
		case r.Interrupted:
			state = "not come to"
		}
		rows = append(rows, Row{f.Name, state})
	}
	b.WriteString(FormatRows(rows))
	b.WriteByte('\n')
	b.WriteString(FormatRows([]Row{
		{"objects", fmt.Sprint(r.Objects)},
		{"lists", fmt.Sprint(r.Lists)},
		{"watches", fmt.Sprint(r.Watches)},
		{"bookmarks", fmt.Sprint(r.Bookmarks)},
		{"410s", fmt.Sprint(r.Expired)},
		{"Too large", fmt.Sprint(r.TooLarge)},
		{"tombstones", fmt.Sprint(r.Tombstones)},
		{"events/s", fmt.Sprintf("%.0f (%d by watch; changes that a list brought are not among them)", r.EventsPerSecond, r.Events)},
		{"lag p50/p99", short(r.LagP50Seconds) + " / " + short(r.LagP99Seconds) + " from commit to store, outages included"},
	}))
	b.WriteByte('\n')
	for _, d := range r.Differences {
		b.WriteString("\n  " + visible.OneLine(d))
	}
	switch {
	case r.Interrupted:
		b.WriteString("\ninterrupted: the mirror was not compared with the server")
	case r.Matches:
		b.WriteString("\nmirror matches the server")
	default:
		b.WriteString("\nmirror DOES NOT match the server")
	}
	return b.String()
}
