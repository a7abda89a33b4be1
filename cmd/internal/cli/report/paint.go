package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/relist-go/relist/internal/visible"
)

// Colours are some of the eight basic ones: not white and black, which are the background of one
// terminal or the other, and not yellow, cyan and blue, which are pale on one of them. Green is
// pale on white in the palette of xterm, but not in newer ones. Only the words that name what
// happened are painted, so that the text can be read whatever the colours look like. Source:
// ECMA-48, 8.3.117 SGR.
const (
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	magenta = "\x1b[35m"
	bold    = "\x1b[1m"
	faint   = "\x1b[2m"
	plain   = "\x1b[0m"
)

// How Paint marks text.
const (
	Bold = bold
	Good = green
	Bad  = magenta
)

// The columns of a line of text: the time since the start, and the kind.
const (
	kindColumn = 12
	textColumn = kindColumn + 11
)

// layout says how lines of text are written.
type layout struct{ color bool }

// appendText writes a line with the time since the start. A summary is a table, which needs none.
// Each kind of line makes its text safe for a terminal. appendText does it again, so that no kind
// can forget it.
func (y layout) appendText(b []byte, since time.Duration, resource string, l Line) []byte {
	if _, is := l.(Summary); is {
		title := "summary"
		if resource != "" {
			title += " of " + visible.OneLine(strings.TrimSpace(resource))
		}
		return append(b, title+visible.Lines(l.Text())+"\n"...)
	}
	text := visible.OneLine(l.Text())
	if resource != "" {
		text = visible.OneLine(resource) + "  " + text
	}
	line := fmt.Sprintf("%9.3fs  %-9s  %s\n", since.Seconds(), Kind(l), text)
	b = append(b, y.paint(line, l)...)
	if d, ok := l.(Delta); ok {
		for _, c := range d.Changes {
			b = y.appendChange(b, c)
		}
	}
	return b
}

// paint colours the words of a line that need attention.
func (y layout) paint(line string, l Line) string {
	if !y.color {
		return line
	}
	color, end := "", kindColumn+len(Kind(l))
	switch l := l.(type) {
	case Problem:
		color = red
	case Synced:
		color = green
	case Relist, Backoff, WatchEnd:
		color = magenta
	case Bookmark:
		color, end = faint, len(line)-1
	case Delta:
		color = colorOfDelta(l)
	}
	if color == "" {
		return line
	}
	return line[:kindColumn] + color + line[kindColumn:end] + plain + line[end:]
}

func colorOfDelta(d Delta) string {
	switch {
	case d.Inferred:
		return magenta
	case d.Type == "Added":
		return green
	case d.Type == "Deleted":
		return red
	case d.Type == "Sync":
		return faint
	}
	return bold
}

// Paint returns text for Write, marked if the Printer paints. Without a mark, it stays plain.
func (p *Printer) Paint(mark, text string) string {
	if !p.opts.Color || mark == "" {
		return text
	}
	return mark + text + plain
}

// longestValue is how much of a value stands in a line of --diff.
const longestValue = 120

// appendChange writes what has changed in a field, below the line of the object.
func (y layout) appendChange(b []byte, c Change) []byte {
	mark, color, text := "~", bold, value(c.Old)+" → "+value(c.New)
	switch {
	case c.Old == nil:
		mark, color, text = "+", green, value(c.New)
	case c.New == nil:
		mark, color, text = "-", red, value(c.Old)
	}
	line := fmt.Sprintf("%*s %s: %s\n", textColumn+1, mark, visible.OneLine(c.Path), text)
	if !y.color {
		return append(b, line...)
	}
	return append(b, strings.Replace(line, mark, color+mark+plain, 1)...)
}

// value returns a value of JSON on one line. It leaves out the middle of a long value.
func value(text []byte) string {
	s := visible.OneLine(string(text))
	if n := utf8.RuneCountInString(s); n > longestValue {
		runes := []rune(s)
		return fmt.Sprintf("%s…%s (%d characters)", string(runes[:longestValue/2]), string(runes[n-longestValue/4:]), n)
	}
	return s
}

// Cut shortens a line to a number of columns, between words if it can, and marks the end.
func Cut(line string, columns int) string {
	runes := []rune(line)
	if len(runes) <= columns {
		return line
	}
	if columns < 1 {
		return ""
	}
	end := columns - 1
	for end > 0 && runes[end] != ' ' {
		end--
	}
	if end < columns/2 { // one long word
		end = columns - 1
	}
	return strings.TrimRight(string(runes[:end]), " ") + "…"
}
