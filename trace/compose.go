package trace

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// Composer is a trace that is being written while it runs, by a program that
// decides on the next line by what came of those before. A recorder is one.
type Composer struct {
	run    *run
	parser parser
}

// Compose runs script, which says one thing after another to the client that
// program makes, and returns the trace that came of it. The clock is that of the
// run: script must not wait for anything. If the run cannot go on, or script
// returns an error, the text is what there is so far.
//
// Do not call Compose from two goroutines, nor from within a test's bubble.
func Compose(program Program, script func(*Composer) error) ([]byte, error) {
	var text []string
	var err error
	synctest.Test(new(testing.T), func(*testing.T) { // as in Replay
		r := &run{file: &File{Name: "trace"}, program: program, echo: func(string) {}, peer: newPeer()}
		err = script(&Composer{run: r, parser: parser{of: configMaps}})
		err = errors.Join(err, r.end(err == nil))
		text = r.lines
	})
	return join(text), err
}

// Say adds lines of an author, without newlines at their ends, and plays the
// stimulus among them, if there is one: comments and empty lines may stand above
// it, and the objects of a list below. It returns the lines of the run.
func (c *Composer) Say(lines ...string) (came []string, err error) {
	var said stimulus
	for _, text := range lines {
		l, err := c.parser.line(text)
		switch {
		case err != nil:
		case l.kind == observed, strings.Contains(text, "\n"):
			err = errors.New("want a line of an author")
		case l.stimulus != nil && said != nil:
			err = errors.New("want one stimulus at a time")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		if l.stimulus != nil {
			said = l.stimulus
		}
		c.run.write(text)
	}
	if said == nil {
		return nil, nil
	}
	before := len(c.run.lines)
	err = c.run.play(said)
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(lines, "\n"), err)
	}
	return c.run.lines[before:len(c.run.lines):len(c.run.lines)], err
}
