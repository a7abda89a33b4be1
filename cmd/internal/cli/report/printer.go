// Package report says what a mirror does, for people and for programs: a line for
// each thing that happens, as readable text or as one JSON object.
//
// A line is a struct: its JSON tags are the format for programs, its Text method the
// one for people. A Printer writes them out as fast as the output takes them, and each
// at once while nothing else happens.
//
// Begin with Printer and Line.
package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/visible"
)

// Options of a [Printer].
type Options struct {
	Format Format

	// Color paints text. It is for terminals.
	Color bool

	// Live keeps a line at the bottom that [Printer.Progress] changes. It is for
	// terminals.
	Live bool

	// columns asks the terminal for its width, which may change: the live line is cut there. If
	// nil, the line has room for 80 columns.
	columns func() int

	// Failed is called once, from a goroutine of the Printer, when the output takes no
	// more; everything after that is dropped. If nil, only Close tells.
	Failed func(error)
}

// maxPending is how many bytes may wait for the output before the caller of Print
// waits, too.
const maxPending = 1 << 20

// Printer writes lines to an output that may be slow. Print returns at once while the
// output keeps up: one goroutine writes everything that has gathered meanwhile, so that
// a line is out as soon as it can be, and a thousand are one write.
//
// All methods may be called from any goroutine.
type Printer struct {
	out   io.Writer
	opts  Options
	start time.Time
	done  chan struct{} // closed when the writing goroutine has ended

	mu       sync.Mutex
	changed  *sync.Cond // pending, progress, closed or err have changed
	pending  []byte
	progress string
	redraw   bool
	closed   bool
	err      error
}

// NewPrinter returns a Printer to be closed.
func NewPrinter(out io.Writer, opts Options) *Printer {
	p := &Printer{out: out, opts: opts, start: time.Now(), done: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	go p.write()
	return p
}

// Print writes a line, in the order of the calls.
func (p *Printer) Print(l Line) { p.PrintOf("", l) }

// PrintOf is Print for a line about a resource, where there are several: in JSON as a
// field, and in text before the text of the line. Spaces at the end of a resource
// align what follows.
func (p *Printer) PrintOf(resource string, l Line) {
	if _, last := l.(Summary); p.opts.Format == Bytes || p.opts.Format == None && !last {
		return
	}
	now := time.Now()
	p.append(func(b []byte) []byte {
		if p.opts.Format != JSON {
			return layout{color: p.opts.Color}.appendText(b, now.Sub(p.start), resource, l)
		}
		b, err := appendJSON(b, now, strings.TrimSpace(resource), l)
		if err != nil {
			b = fmt.Appendf(b, "{\"kind\":\"problem\",\"class\":\"output\",\"message\":%q}\n", err.Error())
		}
		return b
	})
}

// Write writes text as it is, whatever the format. It implements [io.Writer], and never
// fails: Close returns the error of the output.
func (p *Printer) Write(text []byte) (int, error) {
	p.append(func(b []byte) []byte { return append(b, text...) })
	return len(text), nil
}

// append appends to what waits for the output, if the output still takes anything.
func (p *Printer) append(to func([]byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pending) >= maxPending && p.err == nil {
		p.changed.Wait()
	}
	if p.err != nil {
		return
	}
	p.pending = to(p.pending)
	p.changed.Broadcast()
}

// Say writes plain text, which is left out unless the format is [Text].
func (p *Printer) Say(format string, args ...any) {
	if p.opts.Format != Text {
		return
	}
	_, _ = p.Write([]byte(visible.Lines(fmt.Sprintf(format, args...)) + "\n")) // it never fails
}

// Progress shows text on the last line of a terminal, instead of what was there; it is
// kept at the bottom. Empty text removes it.
//
// The cursor stays at the beginning of the line, so that neither a ^C that the terminal
// shows there, nor a window that becomes narrower, leaves a piece of the line behind.
func (p *Printer) Progress(text string) {
	if !p.opts.Live {
		return
	}
	columns := 80
	if p.opts.columns != nil {
		columns = p.opts.columns()
	}
	text = Cut(visible.OneLine(text), columns-1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redraw = p.redraw || text != p.progress
	p.progress = text
	p.changed.Broadcast()
}

// Close writes what is left, waits until it is written, and returns the first error of
// the output.
func (p *Printer) Close() error {
	p.mu.Lock()
	p.closed = true
	p.redraw = p.redraw || p.progress != ""
	p.progress = ""
	p.changed.Broadcast()
	p.mu.Unlock()
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// write is the goroutine that writes.
func (p *Printer) write() {
	defer close(p.done)
	var spare []byte
	shown := false // a progress line is on the screen
	for {
		p.mu.Lock()
		for len(p.pending) == 0 && !p.redraw && !p.closed {
			p.changed.Wait()
		}
		if len(p.pending) == 0 && !p.redraw {
			p.mu.Unlock()
			return
		}
		batch, progress := p.pending, p.progress
		p.pending, p.redraw = spare[:0], false
		p.mu.Unlock()

		out := batch
		if shown {
			out = append([]byte("\r\x1b[J"), batch...) // and what is below, if the line was broken in two
		}
		if shown = progress != ""; shown {
			out = append(append(out, progress...), '\r')
		}
		_, err := p.out.Write(out)
		spare = batch

		p.mu.Lock()
		if err != nil {
			p.err, p.pending = err, nil
		}
		p.changed.Broadcast() // there is room again, or no use in waiting
		p.mu.Unlock()
		if err != nil {
			if p.opts.Failed != nil {
				p.opts.Failed(err)
			}
			return
		}
	}
}
