package report

import (
	"cmp"
	"fmt"
	"io"
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

	// Width is the number of columns of the terminal, to which the live line is cut: one
	// that wraps cannot be removed. If zero, 80.
	Width int

	// Failed is called once, from a goroutine of the Printer, when the output takes no
	// more; everything after that is dropped. If nil, only Close tells.
	Failed func(error)
}

// maxPending is how many bytes may wait for the output before who prints waits too.
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
func (p *Printer) Print(l Line) {
	if _, last := l.(Summary); p.opts.Format == None && !last {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pending) >= maxPending && p.err == nil {
		p.changed.Wait()
	}
	if p.err != nil {
		return
	}
	if p.opts.Format == JSON {
		var err error
		if p.pending, err = appendJSON(p.pending, now, l); err != nil {
			p.pending = fmt.Appendf(p.pending, "{\"kind\":\"problem\",\"class\":\"output\",\"message\":%q}\n", err.Error())
		}
	} else {
		p.pending = appendText(p.pending, now.Sub(p.start), l, p.opts.Color)
	}
	p.changed.Broadcast()
}

// Say writes plain text, which is left out unless the format is [Text].
func (p *Printer) Say(format string, args ...any) {
	if p.opts.Format != Text {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(append(p.pending, visible.Lines(fmt.Sprintf(format, args...))...), '\n')
	p.changed.Broadcast()
}

// Progress shows text on the last line of a terminal, instead of what was there; it is
// kept at the bottom. Empty text removes it.
func (p *Printer) Progress(text string) {
	if !p.opts.Live {
		return
	}
	text = visible.OneLine(text)
	if runes, room := []rune(text), cmp.Or(p.opts.Width, 80)-1; len(runes) > room {
		text = string(runes[:max(0, room)])
	}
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
			out = append([]byte("\r\x1b[K"), batch...)
		}
		if shown = progress != ""; shown {
			out = append(out, progress...)
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
