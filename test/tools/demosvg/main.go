// Command demosvg draws a digest of what `relist demo` printed: each fault, how the client
// recovered, and the verdict light up at the time at which they happened. They are faint before, so
// that the picture is never empty. A reader who prefers no motion sees them all.
//
//	go run ./cmd/relist demo | go run -C test ./tools/demosvg > docs/demo.svg
package main

import (
	"bufio"
	"fmt"
	"html"
	"os"
	"regexp"
	"strconv"
	"strings"
)

const (
	width, lineHeight, margin = 880, 22, 20
	pause                     = 6 // seconds at the end, before the recording starts again
)

var shown = regexp.MustCompile(`^ +([\d.]+)s  (fault|recovered|synced) +([^:,]+)[:,]? ?(.*)$`)

// line is one line of the picture. It appears at seconds.
type line struct {
	seconds            float64
	class, what, label string
}

func main() {
	if err := draw(); err != nil {
		fmt.Fprintln(os.Stderr, "demosvg:", err)
		os.Exit(1)
	}
}

func draw() error {
	lines := []line{{0, "command", "$ make demo", "(of its lines, the faults and the recoveries, shortened)"}}
	last := 0.0
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		if m := shown.FindStringSubmatch(input.Text()); m != nil {
			at, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return err
			}
			last = at
			lines = append(lines, shorten(line{at, m[2], m[3], m[4]}))
		}
		if strings.HasPrefix(input.Text(), "mirror ") {
			lines = append(lines, line{last + 1, "verdict", input.Text(), ""})
		}
	}
	if err := input.Err(); err != nil {
		return err
	}
	if end := lines[len(lines)-1]; end.class != "verdict" {
		return fmt.Errorf("the demo has printed no verdict, but %q at the end", end.what)
	}
	return write(lines, last+1+pause)
}

// shorten drops from a line what the picture has no room for.
func shorten(l line) line {
	switch l.class {
	case "recovered":
		l.what = "  " + l.label
		l.label = ""
	case "synced":
		l.what += " in the cache"
	}
	return l
}

func write(lines []line, length float64) error {
	out := &strings.Builder{}
	height := 2*margin + lineHeight*len(lines)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="A digest of what make demo prints">`+"\n", width, height, width, height)
	out.WriteString(`<style>
text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#c9d1d9;white-space:pre}
.time{fill:#6e7681}.fault{fill:#ffa657}.recovered,.verdict{fill:#7ee787}.detail{fill:#8b949e}.verdict{font-weight:bold}
`)
	for i, l := range lines {
		fmt.Fprintf(out, "@keyframes a%d{0%%,%.2f%%{opacity:.2}%.2f%%,100%%{opacity:1}}\n", i, 100*l.seconds/length, 100*l.seconds/length+0.3)
	}
	fmt.Fprintf(out, "@media(prefers-reduced-motion:no-preference){g{animation-duration:%.1fs;animation-iteration-count:infinite}}\n</style>\n", length)
	fmt.Fprintf(out, `<rect width="%d" height="%d" rx="8" fill="#0d1117"/>`+"\n", width, height)
	for i, l := range lines {
		y := margin + lineHeight*i + 14
		stamp := ""
		if l.seconds > 0 {
			stamp = fmt.Sprintf("%5.1f s", l.seconds)
		}
		fmt.Fprintf(out, `<g style="animation-name:a%d"><text class="time" x="%d" y="%d">%s</text><text x="%d" y="%d"><tspan class="%s">%s</tspan> <tspan class="detail">%s</tspan></text></g>`+"\n",
			i, margin, y, stamp, margin+72, y, l.class, html.EscapeString(l.what), html.EscapeString(l.label))
	}
	out.WriteString("</svg>\n")
	_, err := os.Stdout.WriteString(out.String())
	return err
}
