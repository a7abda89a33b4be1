package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist/internal/show"
	"github.com/relist-go/relist/internal/visible"
)

// screenPeriod is how often the table of -o table is drawn if it has changed, and repairPeriod how
// often in any case, because messages may have been written over it.
const (
	screenPeriod = 250 * time.Millisecond
	repairPeriod = 2 * time.Second
)

// The sequences with which a terminal shows another screen, and comes back to what it showed
// before. While a line is written that is too long, the terminal cuts it. Source:
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (1049, DECTCEM, DECAWM).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	restOfLine  = "\x1b[K"
	restOfAll   = "\x1b[J"
)

// screen shows the objects of mirrors as a table, sorted by key: on a terminal all the time on a
// screen of its own, and on another output once, at the end.
type screen struct {
	out        io.Writer
	terminal   *os.File // the output; nil if the output is not a terminal
	targets    []*target
	several    bool
	namespaced bool // some objects have a namespace
}

func newScreen(out io.Writer, terminal *os.File, targets []*target) *screen {
	return &screen{
		out: out, terminal: terminal, targets: targets, several: len(targets) > 1,
		namespaced: slices.ContainsFunc(targets, func(t *target) bool { return t.namespaced }),
	}
}

// run draws the table until ctx ends, and leaves nothing of it behind.
func (s *screen) run(ctx context.Context) {
	if s.terminal == nil {
		return
	}
	ticker := time.NewTicker(screenPeriod)
	defer ticker.Stop()
	last, drawn := "", time.Time{}
	s.write(enterScreen)
	defer s.write(leaveScreen)
	for {
		columns, rows := report.Size(s.terminal)
		now := time.Now()
		if frame := s.frame(columns, rows, now); frame != last || now.Sub(drawn) >= repairPeriod {
			s.write(frame)
			last, drawn = frame, now
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// conclude prints the table, unless a terminal has shown it.
func (s *screen) conclude() {
	if s.terminal == nil {
		for _, line := range s.table(-1, time.Now()) {
			s.write(line + "\n")
		}
	}
}

// write gives a text to the printer, which keeps the error.
func (s *screen) write(text string) { _, _ = io.WriteString(s.out, text) }

// frame is the whole screen: the table, how many rows it has no room for, and a line about the
// mirrors.
func (s *screen) frame(columns, rows int, now time.Time) string {
	var b strings.Builder
	b.WriteString(homeCursor)
	room := max(1, rows-3) // below the headings, and above the last two lines
	for _, line := range s.table(room, now) {
		b.WriteString(report.Cut(line, columns) + restOfLine + "\r\n")
	}
	if more := s.count() - room; more > 0 {
		b.WriteString(report.Cut(fmt.Sprintf("... and %d more", more), columns) + restOfLine + "\r\n")
	}
	b.WriteString(report.Cut(visible.OneLine(statusLine(s.targets, now)), columns) + restOfLine + restOfAll)
	return b.String()
}

func (s *screen) count() int {
	n := 0
	for _, t := range s.targets {
		n += t.mirror.Store().Len()
	}
	return n
}

// table returns the headings and at most limit rows, or all if limit is negative.
func (s *screen) table(limit int, now time.Time) []string {
	headings := show.Headings(s.namespaced)
	if s.several {
		headings = append([]string{"RESOURCE"}, headings...)
	}
	rows := [][]string{headings}
	for _, t := range s.targets {
		for key, o := range t.mirror.Store().Snapshot().All() {
			if limit >= 0 && len(rows) > limit {
				break
			}
			object, err := show.Object(o.Bytes(), t.gvk)
			row := []string{report.Word(key) + ": " + visible.OneLine(fmt.Sprint(err))}
			if err == nil {
				row = show.Row(object, s.namespaced, now)
			}
			if s.several {
				row = append([]string{visible.OneLine(strings.TrimSpace(t.label))}, row...)
			}
			rows = append(rows, row)
		}
	}
	return cli.TableLines(rows)
}
