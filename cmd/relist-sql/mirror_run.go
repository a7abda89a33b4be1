package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/connect"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist-sql/internal/database"
	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/listwatch"
	relistprom "github.com/relist-go/relist/prometheus"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

type mirrorRun struct {
	flags   *mirrorFlags
	server  string
	targets []*target
	db      database.DB
	// identify asks which cluster answers.
	identify func(ctx context.Context) (string, error)
	out      *report.Printer
	stderr   io.Writer
	registry *prometheus.Registry // of the copies, and of what is in metrics
	metrics  *relistprom.Metrics
	live     bool        // out keeps a line at the bottom
	waiting  atomic.Bool // for its turn, with --standby
}

// run connects, and then mirrors until it is stopped.
func (f *mirrorFlags) run(cmd *cobra.Command, names []string) error {
	ctx := cmd.Context()
	cmd.SetErr(cli.BesideLine(cmd.OutOrStdout(), cmd.ErrOrStderr()))
	stderr := cmd.ErrOrStderr()
	desk, err := f.status.open(ctx, stderr)
	if err != nil {
		return err
	}
	defer desk.close()
	cfg, client, err := f.Client(ctx, stderr, f.transport)
	if ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return err
	}
	defer client.Close()
	r := &mirrorRun{flags: f, server: cfg.Server, stderr: stderr, registry: prometheus.NewRegistry()}
	r.metrics = relistprom.New(r.registry)
	r.registry.MustRegister(copies{r})
	if r.targets, err = f.targets(ctx, stderr, client, cfg, names); err == nil {
		err = r.open(ctx, client, cfg)
	}
	if r.db != nil {
		defer func() { _ = r.db.Close() }() // everything that matters is committed
	}
	if ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return err
	}
	opts := report.Terminal(cmd.OutOrStdout(), report.Text, report.ColorAuto)
	r.out, r.live = report.NewPrinter(cmd.OutOrStdout(), opts), opts.Live
	desk.serve(r)
	return cmp.Or(r.lead(ctx), r.out.Close())
}

// open asks the server about each resource, and opens the database. The server comes first, so that
// no file is made for a resource that cannot be read.
func (r *mirrorRun) open(ctx context.Context, client *transport.Client, cfg transport.Config) error {
	r.identify = func(ctx context.Context) (string, error) { return clusterID(ctx, r.flags.cluster, client, cfg) }
	cluster, err := r.identify(ctx)
	if err != nil {
		return err
	}
	check := func(object []byte) error { return r.db.Check(object) }
	for _, t := range r.targets {
		if err := t.prepare(r.flags, client, cluster, check); err != nil {
			return err
		}
		if err := t.ask(ctx, cfg); err != nil {
			return err
		}
	}
	if r.db, err = database.Open(ctx, r.flags.place, database.Options{Shared: r.flags.shared}); errors.Is(err, database.ErrLocked) {
		return &cli.StatusError{Status: exitFenced, Err: err}
	} else if err != nil {
		return err
	}
	for _, t := range r.targets {
		t.copy, err = r.db.Copy(durable.Table{
			Resource: t.found.GroupVersionResource, Cluster: r.flags.label, Name: t.table, Columns: t.columns, History: r.flags.history,
		})
		if err != nil {
			return err
		}
		if err := r.newMirror(t); err != nil { //nolint:contextcheck // a trace has no context
			return err
		}
	}
	return nil
}

func (r *mirrorRun) newMirror(t *target) error {
	opts := reflector.Options{PageSize: r.flags.PageSize, Trace: t.trace(), Fatal: t.fatal}
	if r.flags.verify > 0 {
		metadata, err := t.source.Metadata()
		if err != nil {
			return err
		}
		opts.Verify = reflector.VerifyOptions{Interval: r.flags.verify, Metadata: metadata}
	}
	if r.flags.once {
		opts.MinWatchTimeout = onceWatch
	}
	opts.Trace = reflector.JoinTraces(opts.Trace, r.metrics.Trace(t.label), &reflector.Trace{
		Relist: func(l reflector.Relist) { r.say(t, "lists again: %s%s", l.Reason, because(l.Err)) },
	})
	m, err := durable.New[*listwatch.Raw](t.source, t.copy, durable.Options{
		Stream: t.stream, Identify: r.identify, Reflector: opts, Trace: r.sinkTrace(t), Logger: cli.NewLog(r.stderr, slog.LevelWarn),
	})
	t.mirror = m
	r.metrics.Reflector(t.label, t)
	return err
}

// lead mirrors, with --standby as soon as nobody else does.
func (r *mirrorRun) lead(ctx context.Context) error {
	if !r.flags.standby {
		return r.mirror(ctx)
	}
	r.waiting.Store(true)
	r.out.Say("waiting until no other program writes to %s", r.flags.place)
	err := r.db.Lead(ctx, func(ctx context.Context) error {
		r.waiting.Store(false)
		defer r.waiting.Store(true)
		return r.mirror(ctx)
	}, func(err error) { cli.Complain(r.stderr, "%s, and waits until it can write again\n", cli.OneLine(err)) })
	if ctx.Err() == nil {
		return err
	}
	return nil // stopped
}

// mirror runs the mirrors until ctx ends, or until one of them gives up: then all end, and its
// error is returned.
func (r *mirrorRun) mirror(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.out.Say("copying %s from %s to %s", labels(r.targets), r.server, r.flags.place)
	var beside sync.WaitGroup
	shown, hide := context.WithCancel(context.WithoutCancel(ctx))
	beside.Go(func() { r.showProgress(shown) })
	if r.flags.once {
		beside.Go(func() {
			if r.awaitCurrent(ctx) {
				stop(nil)
			}
		})
	}
	mirrors := make([]*durable.Mirror[*listwatch.Raw], len(r.targets))
	for i, t := range r.targets {
		mirrors[i] = t.mirror
	}
	ended, err := durable.RunAll(ctx, mirrors...)
	stop(nil)
	hide()
	beside.Wait()
	if ended >= 0 {
		return r.explain(r.targets[ended], err)
	}
	for _, t := range r.targets {
		r.conclude(t)
	}
	return nil
}

// explain says what the user can do about the end of a mirror.
func (r *mirrorRun) explain(t *target, err error) error {
	var mismatch *durable.MismatchError
	var outage *reflector.OutageError
	switch {
	case errors.Is(err, durable.ErrFenced):
		advice := "let one program write a copy"
		if r.flags.place.File == "" {
			advice += ", or start all with --standby, so that one waits for another"
		}
		return &cli.StatusError{Status: exitFenced, Err: fmt.Errorf("%s in %s: %w; what this program had committed is kept: %s", t.label, r.flags.place, durable.ErrFenced, advice)}
	case errors.As(err, &mismatch) && mismatch.Has.Cluster != mismatch.Wanted.Cluster:
		return fmt.Errorf("%s: %w; a second cluster can be in the same database by another --label", r.flags.place, mismatch)
	case errors.As(err, &mismatch):
		return fmt.Errorf("%s: %w", r.flags.place, mismatch)
	case errors.As(err, &outage):
		return connect.Explain(outage.Err, r.server, cli.StartTimeout)
	}
	return fmt.Errorf("%s: %w", t.label, err)
}

func labels(targets []*target) (text string) {
	for i, t := range targets {
		if i > 0 {
			text += ", "
		}
		text += t.label
		if t.namespace != "" {
			text += " in " + t.namespace
		}
	}
	return text
}
