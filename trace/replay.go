package trace

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// ReplayOptions are those of [Replay]. The zero value is ready.
type ReplayOptions struct {
	// Program is what is run. If nil, [Mirror].
	Program Program

	// Update rewrites the observed lines of files that differ.
	Update bool

	// Line is told each line of the conversation as it happens, inside the run's
	// bubble: it must not use a channel, a timer or a WaitGroup made outside. If
	// nil, nobody is.
	Line func(file, line string)

	// Done is told how each file ended: nil, a [*Failure], or why it could not
	// be run. If nil, nobody is.
	Done func(file string, err error)
}

// ErrDiffers is in the error of [Replay] when a run was not what its file says.
var ErrDiffers = errors.New("differs from the file")

// Replay runs files outside of go test, one after the other, and goes on after
// one that fails. The error joins those of all files.
//
// Do not call Replay from two goroutines.
func Replay(opts ReplayOptions, files ...string) error {
	if opts.Program == nil {
		opts.Program = Mirror
	}
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
			err = fmt.Errorf("%s: %w", name, ErrDiffers)
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
	// A bubble can only be entered with a *testing.T, and package testing makes
	// those for tests alone. It asks its T for nothing but a place to report
	// failure and to hang children from, for which a zero one will do; nothing
	// here reports through it. A test runs this in a plain binary.
	got, err := inBubble(new(testing.T), f, o.Program, func(line string) { o.Line(name, line) })
	if err == nil && o.Update {
		return rewrite(f, name, got)
	}
	return compare(f, got, err)
}
