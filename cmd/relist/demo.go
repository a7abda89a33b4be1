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

// demoFlags are the flags of `relist demo`.
type demoFlags struct {
	duration time.Duration
	color    report.ColorWhen
}

func newDemo() *cobra.Command {
	f := &demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Mirror a server that misbehaves, and see what happens",
		Long: `Start an API server with two replicas on loopback, change its objects all the
time, and mirror it while connections are cut, history is compacted, replicas
lag behind, tokens expire, objects vanish unseen and a connection goes silent.
Then compare the mirror with the server.

Exit status: 0 if they match and every fault was met, 1 if not.`,
		Example: `  relist demo
  relist demo --duration 1m`,
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.DurationVar(&f.duration, "duration", 15*time.Second, "how long to run; the demo runs longer if the faults take longer")
	addColor(cmd, &f.color)
	return cmd
}

func (f *demoFlags) run(cmd *cobra.Command) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	opts := report.Terminal(cmd.OutOrStdout(), report.Text, f.color)
	opts.Failed = func(error) { stop() } // Close returns it
	out := report.NewPrinter(cmd.OutOrStdout(), opts)
	err := demo.Run(ctx, f.duration, out)
	if closeErr := out.Close(); closeErr != nil {
		return fmt.Errorf("write the output: %w", closeErr)
	}
	if err != nil && cmd.Context().Err() != nil {
		return errors.New("interrupted before every fault was shown")
	}
	return err
}
