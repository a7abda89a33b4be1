package report

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Terminal returns the options that suit an output: colours and a live line on a
// terminal, unless the environment says otherwise.
// Source: https://no-color.org
func Terminal(out io.Writer, format Format) Options {
	opts := Options{Format: format}
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
