package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/relist-go/relist/internal/visible"
)

// Text implements [Line].
func (d Delta) Text() string {
	if d.Inferred {
		return fmt.Sprintf("%-8s %s  (final state unknown, last seen at %s)", d.Type, Word(d.Key), Word(d.ResourceVersion))
	}
	return fmt.Sprintf("%-8s %s  at %s", d.Type, Word(d.Key), Word(d.ResourceVersion))
}

// Text implements [Line].
func (s Synced) Text() string {
	return fmt.Sprintf("%s at %s", Count(s.Objects, "object"), Word(s.ResourceVersion))
}

// Text implements [Line].
func (l List) Text() string {
	return fmt.Sprintf("%s in %s at %s, took %s", Count(l.Items, "object"), Count(l.Pages, "page"), Word(l.ResourceVersion), Short(l.Seconds))
}

// Text implements [Line].
func (w Watch) Text() string {
	return fmt.Sprintf("from %s, asking for %s", orNone(w.ResourceVersion), Short(w.TimeoutSeconds))
}

// Text implements [Line].
func (b Bookmark) Text() string { return "at " + Word(b.ResourceVersion) }

// Text implements [Line].
func (w WatchEnd) Text() string {
	return withMessage(fmt.Sprintf("%s after %s and %s", w.Reason, Short(w.Seconds), Count(w.Events, "event")), w.Message)
}

// Text implements [Line].
func (r Relist) Text() string {
	return withMessage(fmt.Sprintf("%s is given up: %s", orNone(r.ResourceVersion), r.Reason), r.Message)
}

// Text implements [Line].
func (b Backoff) Text() string { return Short(b.Seconds) + " because " + b.Reason }

// Text implements [Line].
func (p Problem) Text() string {
	if p.Key != "" {
		return p.Class + " " + Word(p.Key) + ": " + visible.OneLine(p.Message)
	}
	return p.Class + ": " + visible.OneLine(p.Message)
}

// Table returns the rows that people read at the end.
func (s Summary) Table() []Row {
	rows := []Row{
		{"objects", fmt.Sprint(s.Objects)},
		{"resourceVersion", orNone(s.ResourceVersion)},
		{"digest", s.Digest},
		{"lists", fmt.Sprint(s.Lists)},
		{"relists", fmt.Sprint(s.Relists)},
		{"watches", fmt.Sprint(s.Watches)},
		{"bookmarks", fmt.Sprint(s.Bookmarks)},
		{"deltas", fmt.Sprintf("%d in the first list, %d added, %d updated, %d deleted (%d inferred), %d replaced, %d resynced",
			s.Deltas.FirstList, s.Deltas.Added, s.Deltas.Updated, s.Deltas.Deleted, s.Inferred, s.Deltas.Replaced, s.Deltas.Sync)},
		{"problems", fmt.Sprint(s.Problems)},
		{"synced in", orNone(map[bool]string{true: Short(s.SyncSeconds)}[s.SyncSeconds > 0])},
	}
	if s.CPUSeconds > 0 {
		rows = append(rows, Row{"CPU", Short(s.CPUSeconds)})
	}
	if s.PeakRSSBytes > 0 {
		rows = append(rows, Row{"peak RSS", fmt.Sprintf("%.1f MB", float64(s.PeakRSSBytes)/1e6)})
	}
	return rows
}

// Text implements [Line].
func (s Summary) Text() string { return FormatRows(s.Table()) }

// Row is a line of a table.
type Row struct{ Name, Value string }

// FormatRows aligns rows under a line of their own.
func FormatRows(rows []Row) string {
	width := 0
	for _, r := range rows {
		width = max(width, len(r.Name))
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "\n  %-*s  %s", width, r.Name, r.Value)
	}
	return b.String()
}

// Count is a number with its noun: "1 page", "2 pages".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Short is a time span with three digits that matter.
func Short(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return Word(s)
}

func withMessage(text, message string) string {
	if message == "" {
		return text
	}
	return text + " (" + visible.OneLine(message) + ")"
}
