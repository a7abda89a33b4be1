package report

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Terminal returns the options that suit an output: colours and a live line on a
// terminal, unless the environment says otherwise. An output that wraps another, and says
// so by a method Unwrap, is taken for that other one.
// Source: https://no-color.org
func Terminal(out io.Writer, format Format) Options {
	opts := Options{Format: format}
	if wrapped, ok := out.(interface{ Unwrap() io.Writer }); ok {
		out = wrapped.Unwrap()
	}
	f, ok := out.(*os.File)
	if !ok || format == JSON || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return opts
	}
	opts.Live = true
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		opts.Width = width
	}
	opts.Color = os.Getenv("NO_COLOR") == ""
	return opts
}
