package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist/internal/demo"
)

type demoFlags struct {
	duration time.Duration
	verbose  bool
	color    report.ColorWhen
}

func newDemo() *cobra.Command {
	f := &demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Mirror a server that misbehaves, and see what happens",
		Long: `Start an API server with two replicas on loopback, change its objects all the
time, and do to it what happens in production: connections break, history is
compacted, an object cannot be decoded, replicas lag behind, tokens expire, a
backup is restored, and a connection goes silent. relist follows the server,
and so does a simple loop. After each fault, both are compared with the server.

Times are shorter than by default: delays are 50ms to 250ms (800ms to 30s), a
connection is pinged after 1s of idle time (30s), a replica that is behind waits
for 500ms (3s), and bookmarks come every 500ms (1m).

Exit status: 0 if relist holds what the server has after every fault, 1 if not.`,
		Example: `  relist demo
  relist demo --verbose       # with each list, watch and delay of relist
  relist demo --duration 1m`,
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.DurationVar(&f.duration, "duration", 15*time.Second, "how long to run; the demo runs longer if the faults take longer")
	flags.BoolVar(&f.verbose, "verbose", false, "print each list, watch and delay, too")
	addColor(cmd, &f.color)
	return cmd
}

func (f *demoFlags) run(cmd *cobra.Command) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	opts := report.Terminal(cmd.OutOrStdout(), report.Text, f.color)
	opts.Failed = func(error) { stop() } // Close returns it
	out := report.NewPrinter(cmd.OutOrStdout(), opts)
	columns := 80
	if terminal := report.TerminalOf(cmd.OutOrStdout()); terminal != nil {
		columns = report.Columns(terminal)
	}
	err := demo.Run(ctx, demo.Options{Duration: f.duration, Verbose: f.verbose, Columns: columns}, out)
	if closeErr := out.Close(); closeErr != nil {
		return fmt.Errorf("write the output: %w", closeErr)
	}
	if err != nil && cmd.Context().Err() != nil {
		return errors.New("interrupted before every fault was shown")
	}
	return err
}
