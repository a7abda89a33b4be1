package cli

import (
	"io"

	"github.com/relist-go/relist/cmd/internal/cli/report"
)

// aside writes messages to a terminal on which a line is kept at the bottom. A message takes the
// place of that line, which is drawn again below it.
type aside struct{ io.Writer }

// BesideLine returns stderr; or, if both outputs are terminals, a writer for messages beside the
// line that is kept at the bottom.
func BesideLine(stdout, stderr io.Writer) io.Writer {
	if report.TerminalOf(stdout) == nil || report.TerminalOf(stderr) == nil {
		return stderr
	}
	return aside{stderr}
}

// Write removes the line: the cursor stands at its beginning.
func (a aside) Write(text []byte) (int, error) {
	const restOfAll = "\x1b[J" // https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (ED)
	if _, err := io.WriteString(a.Writer, "\r"+restOfAll); err != nil {
		return 0, err
	}
	return a.Writer.Write(text)
}

// Unwrap returns the output itself, which is a terminal.
func (a aside) Unwrap() io.Writer { return a.Writer }
