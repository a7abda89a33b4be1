package trace

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// Composer writes a trace while it runs. The program that uses it, such as a
// recorder, chooses each line by the result of the lines before.
type Composer struct {
	run    *run
	parser parser
}

// Compose runs script, which says one line after another to the client that
// program makes, and returns the resulting trace. script runs under the virtual
// clock of the run, and must not wait for anything. If the run cannot continue,
// or script returns an error, Compose returns the text up to that point.
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

// Say adds lines of the author, without newlines at their ends. If there is a
// stimulus among them, Say plays it. Comments and empty lines may stand above
// the stimulus, and the objects of a list below it. Say returns the lines that
// the run adds.
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

// Queued returns the number of entries that wait in the client's queue. It is 0 for a client that
// has no method Queued, which returns the entries.
func (c *Composer) Queued() int {
	if client, ok := c.run.client.(interface{ Queued() []string }); ok {
		return len(client.Queued())
	}
	return 0
}
