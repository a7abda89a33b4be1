package trace

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// ReplayOptions are the options of [Replay]. The zero value is ready.
type ReplayOptions struct {
	// Program makes the client. If nil, each file names its own: see [File.Program].
	Program Program

	// Update rewrites the observed lines of files that differ.
	Update bool

	// Line is called with each line of the conversation as it happens. It runs inside
	// the run's bubble, so it must not use a channel, a timer or a WaitGroup from
	// outside. If nil, no function is called.
	Line func(file, line string)

	// Done is called after each file with the result: nil, a [*Failure], or the
	// reason why the file could not be run. If nil, no function is called.
	Done func(file string, err error)
}

// Replay runs files outside of go test, one after the other. If a file fails, it
// continues with the next one. The error joins the errors of all files; how a run differs from
// its file is told to Done.
//
// Do not call Replay from two goroutines.
func Replay(opts ReplayOptions, files ...string) error {
	if opts.Line == nil {
		opts.Line = func(string, string) {}
	}
	if opts.Done == nil {
		opts.Done = func(string, error) {}
	}
	var errs []error
	for _, name := range files {
		err := opts.replay(name)
		opts.Done(name, err)
		if differs, ok := errors.AsType[*Failure](err); ok && differs.Err == nil {
			err = fmt.Errorf("%s: differs from the file", name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (o *ReplayOptions) replay(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f, err := Parse(name, src)
	if err != nil {
		return err
	}
	program, err := f.programOr(o.Program)
	if err != nil {
		return err
	}
	// synctest needs a *testing.T, and package testing makes one only for tests.
	// synctest only reports failures to it and attaches children to it, so a zero T
	// is enough, and nothing here reports through it. A test runs this code in a
	// plain binary.
	got, err := inBubble(new(testing.T), f, program, func(line string) { o.Line(name, line) })
	if err == nil && o.Update {
		return rewrite(f, name, got)
	}
	return compare(f, got, err)
}

// Check runs f outside of go test, and returns a [*Failure] if the run differs
// from the file. If program is nil, it is the one that the file names.
//
// Do not call Check from two goroutines, nor from within a test's bubble.
func Check(f *File, program Program) error {
	program, err := f.programOr(program)
	if err != nil {
		return err
	}
	got, err := inBubble(new(testing.T), f, program, func(string) {}) // as in Replay
	return compare(f, got, err)
}
