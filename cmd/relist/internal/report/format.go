package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/relist-go/relist/internal/visible"
)

// Format is how lines are written.
type Format uint8

const (
	// Text is for people.
	Text Format = iota
	// JSON is one object a line.
	JSON
	// None is nothing but the summary, as text.
	None
)

// ParseFormat reads the value of -o.
func ParseFormat(s string, allowed ...Format) (Format, error) {
	names := make([]string, len(allowed))
	for i, f := range allowed {
		if s == f.String() {
			return f, nil
		}
		names[i] = f.String()
	}
	return 0, fmt.Errorf("output format %q: want %s", s, strings.Join(names, " or "))
}

// String returns the value of -o.
func (f Format) String() string {
	return [...]string{Text: "text", JSON: "json", None: "none"}[f]
}

// timeFormat is RFC 3339 with all nine digits, so that lines sort as text.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// appendJSON writes a line with its time and kind before its own fields.
func appendJSON(b []byte, now time.Time, l Line) ([]byte, error) {
	fields, err := json.Marshal(l)
	if err != nil {
		return b, fmt.Errorf("encode a %s line: %w", l.Kind(), err)
	}
	fields = SafeJSON(fields)
	b = append(b, `{"time":"`...)
	b = now.UTC().AppendFormat(b, timeFormat)
	b = append(b, `","kind":"`...)
	b = append(b, l.Kind()...)
	b = append(b, '"')
	if len(fields) > len("{}") {
		b = append(append(b, ','), fields[1:]...)
	} else {
		b = append(b, '}')
	}
	return append(b, '\n'), nil
}

// appendText writes a line with the time since the start. A summary and a result are
// tables, which need none. Texts of lines are safe for a terminal already; that they are
// does not depend on each.
func appendText(b []byte, since time.Duration, l Line, color bool) []byte {
	switch l.(type) {
	case Summary:
		return fmt.Appendf(b, "summary%s\n", visible.Lines(l.Text()))
	case Result:
		return fmt.Appendf(b, "%s\n", visible.Lines(l.Text()))
	}
	paint, reset := "", ""
	if color {
		if paint = colorOf(l); paint != "" {
			reset = "\x1b[0m"
		}
	}
	return fmt.Appendf(b, "%9.3fs  %s%-9s  %s%s\n", since.Seconds(), paint, l.Kind(), visible.OneLine(l.Text()), reset)
}

// colorOf says how much a line wants to be looked at.
func colorOf(l Line) string {
	const red, green, yellow, faint, bold = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[1m"
	switch l := l.(type) {
	case Problem:
		return red
	case Synced, Recovered:
		return green
	case Fault:
		return bold
	case Relist, Backoff:
		return yellow
	case Bookmark:
		return faint
	case Delta:
		if l.Inferred {
			return yellow
		}
	}
	return ""
}
