package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/relist/internal/report"
	"github.com/relist-go/relist/internal/visible"
)

// The exit statuses.
const (
	exitOK    = 0
	exitError = 1 // the command failed
	exitUsage = 2 // the command line was not understood
)

// usageError is the error for a command line that was not understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// run runs the command as relist and returns the exit status. It ends soon after ctx does.
func run(ctx context.Context, args []string, output, stderr io.Writer) int {
	return runAs(ctx, "relist", args, output, stderr)
}

// runRoot runs the command, after prepare has changed it.
func runRoot(ctx context.Context, prepare func(root *cobra.Command), args []string, output, stderr io.Writer) int {
	out := &stdout{out: output}
	root := newRoot() //nolint:contextcheck // commands take the context that ExecuteContextC gives them
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	addCompletion(root)
	prepare(root)
	cmd, err := root.ExecuteContextC(ctx)
	if failed := out.failed(); err == nil && failed != nil {
		err = fmt.Errorf("write the output: %w", failed)
	}
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return exitOK // the reader of the output, such as head, has closed it
	case errors.As(err, new(*usageError)):
		complain(stderr, "%s: %s\nSee '%s --help'.\n", cmd.CommandPath(), oneLine(err), cmd.CommandPath())
		return exitUsage
	}
	complain(stderr, "%s: %s\n", cmd.CommandPath(), oneLine(err))
	return exitError
}

// complain writes to stderr, and breaks lines between words if that is a terminal. It
// ignores an error, because there is no other place to report it.
func complain(stderr io.Writer, format string, args ...any) {
	text := visible.Lines(fmt.Sprintf(format, args...))
	if terminal := report.TerminalOf(stderr); terminal != nil {
		columns, _ := report.Size(terminal)
		text = report.Wrap(text, columns, 2)
	}
	_, _ = io.WriteString(stderr, text)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "relist",
		Short: "Mirror a Kubernetes resource, and see what it takes",
		Long: `relist keeps a local copy of a Kubernetes resource in step with the API server:
it lists, watches, and lists again when it has to.

Exit status: 0 if the command succeeded, 1 if it failed, 2 if the command line
was not understood.`,
		Example: `  relist demo                      # mirror a server that misbehaves
  relist mirror pods -A            # mirror a real one, until Ctrl-C
  relist serve --objects 1000      # run the misbehaving server alone
  relist record pods -A -o t.txt   # record the answers of a cluster
  relist replay t.txt              # and play it again`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q: want demo, mirror, record, replay, serve or version", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("relist {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{flagError(err)} })
	root.AddCommand(newDemo(), newMirror(), newServe(), newReplay(), newRecord(), newVersion())
	return root
}

// addCompletion adds cobra's completion command, and makes it refuse shells that
// cobra does not know. The command prints to the output that root has at this
// moment.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args = func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown shell %q: want bash, fish, powershell or zsh", args[0])
			}
			return nil
		}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// noArgs refuses arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("unexpected argument %q", args[0])
	}
	return nil
}

// oneLine returns an error's text on one line, even if a server has put line breaks
// into it.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
