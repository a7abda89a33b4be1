package report

import (
	"io"
	"os"

	"golang.org/x/term"
)

// ColorWhen says when text is painted.
type ColorWhen string

// The values of --color.
const (
	ColorAuto   ColorWhen = "auto" // on a terminal
	ColorAlways ColorWhen = "always"
	ColorNever  ColorWhen = "never"
)

// Terminal returns the options that suit an output: colours, a live line and its width on a
// terminal, unless the environment says otherwise. An output that wraps another, and says
// so by a method Unwrap, is taken for that other one.
// Source: https://no-color.org
func Terminal(out io.Writer, format Format, when ColorWhen) Options {
	opts := Options{Format: format, Color: when == ColorAlways && format != JSON}
	f := TerminalOf(out)
	if f == nil || format == JSON {
		return opts
	}
	opts.Live = true
	opts.columns = func() int { return Columns(f) }
	opts.Color = opts.Color || when == ColorAuto && os.Getenv("NO_COLOR") == ""
	return opts
}

// TerminalOf returns the terminal that an output writes to. It returns nil if the output
// is no terminal, or a terminal that can only write lines.
func TerminalOf(out io.Writer) *os.File {
	if wrapped, ok := out.(interface{ Unwrap() io.Writer }); ok {
		out = wrapped.Unwrap()
	}
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return f
}

// Columns returns the width of a terminal: 80 if it does not say.
func Columns(terminal *os.File) int {
	columns, _, err := term.GetSize(int(terminal.Fd()))
	if err != nil || columns < 1 {
		return 80
	}
	return columns
}
