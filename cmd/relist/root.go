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
)

// The exit statuses.
const (
	exitOK    = 0
	exitError = 1 // what was asked for could not be done
	exitUsage = 2 // it is not clear what was asked for
)

// usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// run is the command without the process: it returns the exit status, and ends soon
// after ctx.
func run(ctx context.Context, args []string, output, stderr io.Writer) int {
	out := &stdout{out: output}
	root := newRoot() //nolint:contextcheck // commands take the context that ExecuteContextC gives them
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	addCompletion(root)
	cmd, err := root.ExecuteContextC(ctx)
	if failed := out.failed(); err == nil && failed != nil {
		err = fmt.Errorf("write the output: %w", failed)
	}
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return exitOK // who read the output has seen enough
	case errors.As(err, new(*usageError)):
		complain(stderr, "%s: %s\nSee '%s --help'.\n", cmd.CommandPath(), oneLine(err), cmd.CommandPath())
		return exitUsage
	}
	complain(stderr, "%s: %s\n", cmd.CommandPath(), oneLine(err))
	return exitError
}

// complain writes to stderr. If that fails there is nobody left to tell.
func complain(stderr io.Writer, format string, args ...any) {
	_, _ = io.WriteString(stderr, report.Lines(fmt.Sprintf(format, args...)))
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "relist",
		Short: "Mirror a Kubernetes resource, and see what it takes",
		Long: `relist keeps a local copy of a Kubernetes resource in step with the API server:
it lists, watches, and lists again when it has to.

Exit status: 0 if all went well, 1 if not, 2 if the command line is not understood.`,
		Example: `  relist demo                      # mirror a server that misbehaves, and see what happens
  relist mirror pods -A            # mirror a real one, until Ctrl-C
  relist serve --objects 1000      # run the misbehaving server alone
  relist record pods -A -o t.txt   # write down what a cluster says, until Ctrl-C
  relist replay t.txt              # and play it again`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q: want demo, mirror, record, replay or serve", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("relist {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{flagError(err)} })
	root.AddCommand(newDemo(), newMirror(), newServe(), newReplay(), newRecord())
	return root
}

// addCompletion lets cobra add its command, which takes any word for a shell without
// saying a thing. It prints to what is the output of root now.
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

// oneLine keeps an error on one line, whatever a server has put into it.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
