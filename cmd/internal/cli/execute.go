// Package cli is what the commands relist and relist-sql have in common: how a command runs and
// ends, how it says that a command line was not understood, the flags that choose a server and its
// objects, and what a shell completes.
//
// Begin with Execute and Selection.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/internal/near"
	"github.com/relist-go/relist/internal/visible"
)

// The exit statuses.
const (
	ExitOK    = 0
	ExitError = 1 // the command failed
	ExitUsage = 2 // the command line was not understood
)

// UsageError is the error for a command line that was not understood.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong.
func (e *UsageError) Unwrap() error { return e.Err }

// Usage returns a UsageError.
func Usage(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// StatusError is an error for which the command has an exit status of its own.
type StatusError struct {
	Err    error
	Status int
}

func (e *StatusError) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *StatusError) Unwrap() error { return e.Err }

// Execute runs a command, after prepare has changed it, and returns the exit status. It ends soon
// after ctx does.
func Execute(ctx context.Context, root *cobra.Command, prepare func(root *cobra.Command), args []string, output, stderr io.Writer) int {
	out := &stdout{out: output}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &UsageError{flagError(cmd.Flags(), err)} })
	root.SetArgs(append([]string{}, args...)) // nil stands for os.Args
	root.SetOut(out)
	root.SetErr(stderr)
	addCompletion(root)
	prepare(root)
	cmd, err := root.ExecuteContextC(ctx)
	if failed := out.failed(); err == nil && failed != nil {
		err = fmt.Errorf("write the output: %w", failed)
	}
	var status *StatusError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return ExitOK // the reader of the output, such as head, has closed it
	case errors.As(err, new(*UsageError)):
		Complain(stderr, "%s: %s\nSee '%s --help'.\n", cmd.CommandPath(), OneLine(err), cmd.CommandPath())
		return ExitUsage
	}
	Complain(stderr, "%s: %s\n", cmd.CommandPath(), OneLine(err))
	if errors.As(err, &status) {
		return status.Status
	}
	return ExitError
}

// Complain writes to stderr. It ignores an error, because there is no other place to report it.
func Complain(stderr io.Writer, format string, args ...any) {
	_, _ = io.WriteString(stderr, visible.Lines(fmt.Sprintf(format, args...)))
}

// NewLog returns the log of a command: the lines that docs/operations.md explains.
func NewLog(stderr io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
}

// Print writes to the output of a command. What a terminal would obey is printed with escapes.
func Print(out io.Writer, format string, args ...any) error {
	if _, err := io.WriteString(out, visible.Lines(fmt.Sprintf(format, args...))); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// addCompletion adds cobra's completion command, and makes it refuse shells that
// cobra does not know. The command prints to the output that root has at this
// moment.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			OnlyCommands(cmd, "shell")
		}
	}
}

// OnlyCommands lets cmd print its help, and refuse an argument that names none of its commands.
// what is the noun for one of them.
func OnlyCommands(cmd *cobra.Command, what string) {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, c := range cmd.Commands() {
			if name := c.Name(); name != "completion" && name != "help" { // cobra's own
				names = append(names, name)
			}
		}
		if meant := near.DidYouMean(args[0], names); meant != "" {
			return Usage("unknown %s %q%s", what, args[0], meant)
		}
		return Usage("unknown %s %q: %w", what, args[0], oneOf(names))
	}
}

// NoArgs refuses arguments.
func NoArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage("unexpected argument %q", args[0])
	}
	return nil
}

// OneLine returns an error's text on one line, even if a server has put line breaks
// into it.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// stdout keeps the first error of an output, because cobra ignores errors when it
// prints, for example, help.
type stdout struct {
	out io.Writer

	mu  sync.Mutex
	err error
}

func (s *stdout) Write(b []byte) (int, error) {
	n, err := s.out.Write(b)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = cmp.Or(s.err, err)
	}
	return n, err
}

// Unwrap returns the output itself, which may be a terminal.
func (s *stdout) Unwrap() io.Writer { return s.out }

func (s *stdout) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
