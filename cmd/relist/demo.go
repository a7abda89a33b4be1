package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/relist/internal/demo"
	"github.com/relist-go/relist/internal/cli"
	"github.com/relist-go/relist/internal/cli/report"
	"github.com/relist-go/relist/transport"
)

// demoFlags are the flags of `relist demo`.
type demoFlags struct {
	opts      demo.Options
	transport transport.WatchTransport
	output    string
	format    report.Format
	color     colorWhen
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

Exit status: 0 if they match and every fault was met, 1 if not.

With -o json, stdout has one object a line, of the kinds of 'relist mirror'
(without deltas that a watch delivered), and "fault", "recovered" and "result".`,
		Example: `  relist demo
  relist demo --objects 20000 --rate 2000 --duration 1m
  relist demo -o json | jq -c 'select(.kind == "recovered")'`,
		Args:              cli.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		PreRunE:           func(*cobra.Command, []string) error { return f.check() },
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&f.opts.Objects, "objects", 2000, "number of ConfigMaps, 20 or more")
	flags.DurationVar(&f.opts.Duration, "duration", 15*time.Second, "how long to run; the demo runs longer if the faults take longer")
	flags.Float64Var(&f.opts.Rate, "rate", 200, "changes a second")
	flags.Uint64Var(&f.opts.Seed, "seed", 0, "seed of the changes (default: a new one each time, which is printed)")
	cli.AddTransport(cmd, &f.transport)
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	addColor(cmd, &f.color)
	cli.CompleteWords(cmd, "output", "text", "json")
	return cmd
}

func (f *demoFlags) check() error {
	var err error
	if f.format, err = report.ParseFormat(f.output, report.Text, report.JSON); err != nil {
		return &cli.UsageError{Err: err}
	}
	switch {
	case f.opts.Objects < 20:
		return cli.Usage("--objects %d: want 20 or more, so that there is something to delete", f.opts.Objects)
	case f.opts.Duration < 0:
		return cli.Usage("--duration %s: want 0 or more", f.opts.Duration)
	case f.opts.Rate < 0:
		return cli.Usage("--rate %v: want 0 or more", f.opts.Rate)
	}
	if f.opts.Seed == 0 {
		f.opts.Seed = 1 + uint64(rand.Uint32())
	}
	return nil
}

func (f *demoFlags) run(cmd *cobra.Command) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	opts := report.Terminal(cmd.OutOrStdout(), f.format, f.color.ColorWhen)
	opts.Failed = func(error) { stop() } // Close returns it
	f.opts.Out = report.NewPrinter(cmd.OutOrStdout(), opts)
	f.opts.Verbose = f.format == report.JSON
	f.opts.Transport = f.transport
	err := demo.Run(ctx, f.opts)
	if closeErr := f.opts.Out.Close(); closeErr != nil {
		return fmt.Errorf("write the output: %w", closeErr)
	}
	if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return errors.New("interrupted before every fault was shown")
	}
	return err
}
