package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/connect"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/cmd/relist/internal/status"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// target is a resource that is mirrored.
type target struct {
	resource string // as errors name it
	label    string // for lines, padded to the length of the longest; "" if there is only one target
	gvk      schema.GroupVersionKind
	source   *listwatch.Client[*listwatch.Raw]
	mirror   *mirror.Mirror
}

// run connects, and then mirrors until it is stopped.
func (f *mirrorFlags) run(cmd *cobra.Command, names []string) error {
	ctx, stop := cli.For(cmd.Context(), f.runFor)
	defer stop()
	cmd.SetErr(cli.BesideLine(cmd.OutOrStdout(), cmd.ErrOrStderr()))
	desk, err := openDesk(ctx, f.status, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer desk.close()
	cfg, client, err := f.Client(ctx, cmd.ErrOrStderr(), f.transport)
	if ctx.Err() != nil {
		return f.stoppedEarly(ctx, cmd, err)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	var targets []*target
	for _, name := range names {
		t, err := f.target(ctx, cmd, client, cfg, name)
		if ctx.Err() != nil {
			return f.stoppedEarly(ctx, cmd, err)
		}
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(targets, func(other *target) bool { return other.resource == t.resource }) { // pods,po is one
			targets = append(targets, t)
		}
	}
	label(targets)
	return f.mirror(ctx, cmd, cfg, targets, desk)
}

func (f *mirrorFlags) target(ctx context.Context, cmd *cobra.Command, client *transport.Client, cfg transport.Config, name string) (*target, error) {
	found, namespace, err := f.Find(ctx, cmd.ErrOrStderr(), client, cfg, name)
	if err != nil {
		return nil, err
	}
	source, err := listwatch.New(client, found.GroupVersionResource, listwatch.Options[*listwatch.Raw]{
		Namespace:     namespace,
		LabelSelector: f.Labels,
		FieldSelector: f.Fields,
		Encoding:      f.encoding,
		MetadataOnly:  f.metadata,
	})
	if err != nil {
		return nil, err
	}
	return &target{
		resource: source.String(),
		label:    found.GroupResource().String(),
		gvk:      found.GroupVersion().WithKind(found.Kind),
		source:   source,
	}, nil
}

// label gives several targets labels of equal length, and a single target none.
func label(targets []*target) {
	if len(targets) == 1 {
		targets[0].label = ""
		return
	}
	longest := 0
	for _, t := range targets {
		longest = max(longest, len(t.label))
	}
	for _, t := range targets {
		t.label += strings.Repeat(" ", longest-len(t.label))
	}
}

// mirror runs a pipeline for each target until ctx ends, and prints the summaries.
func (f *mirrorFlags) mirror(ctx context.Context, cmd *cobra.Command, cfg transport.Config, targets []*target, desk *statusDesk) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var resources []string
	for _, t := range targets {
		resources = append(resources, t.resource)
	}
	rules := make([]reflector.Options, len(targets))
	for i, t := range targets {
		var err error
		if rules[i], err = f.rules(t.source); err != nil {
			return err
		}
	}
	out := f.output.open(cmd, func() { stop(nil) })
	out.printer.Say("mirroring %s from %s", strings.Join(resources, ", "), cfg.Server)

	var unsynced atomic.Int64
	unsynced.Store(int64(len(targets)))
	var views []*status.View
	for i, t := range targets {
		t.mirror = mirror.New(mirror.Options{ //nolint:contextcheck // a trace has no context
			Source:    t.source,
			Reflector: rules[i],
			Report: func(l report.Line) {
				out.report(t, l)
				if _, synced := l.(report.Synced); synced && unsynced.Add(-1) == 0 && f.exitOnSync {
					stop(nil)
				}
			},
			Log:       out.log,
			FailEarly: true,
		})
		views = append(views, &status.View{
			Mirror: t.mirror, Resource: t.resource, Server: cfg.Server, MaxStaleness: f.status.MaxStaleness,
		})
	}
	desk.serve(views...)
	err := runAll(ctx, stop, targets, out)
	if err == nil {
		for _, t := range targets {
			out.printer.PrintOf(t.label, t.mirror.Summary())
		}
	} else {
		err = connect.Explain(err, cfg.Server, cli.StartTimeout)
	}
	return cmp.Or(err, out.close())
}

// runAll runs the mirrors, and what shows them on a terminal, until ctx ends. If one of the mirrors
// gives up, all end, and its error is returned.
func runAll(ctx context.Context, stop context.CancelCauseFunc, targets []*target, out *mirrorOutput) error {
	var mirrors, beside sync.WaitGroup
	errs := make([]error, len(targets))
	for i, t := range targets {
		mirrors.Go(func() {
			if errs[i] = t.mirror.Run(ctx); errs[i] != nil {
				stop(errs[i])
			}
		})
	}
	shown, hide := context.WithCancel(context.WithoutCancel(ctx))
	beside.Go(func() { showStatusLine(shown, out.printer, targets) })
	mirrors.Wait()
	hide()
	beside.Wait()
	return cmp.Or(errs...)
}

func (f *mirrorFlags) rules(source *listwatch.Client[*listwatch.Raw]) (reflector.Options, error) {
	opts := reflector.Options{PageSize: f.PageSize, Resync: f.resync, Initial: f.initial}
	if f.verify > 0 {
		metadata, err := source.Metadata()
		if err != nil {
			return opts, fmt.Errorf("--verify: %w", err)
		}
		opts.Verify = reflector.VerifyOptions{Interval: f.verify, Metadata: metadata}
	}
	return opts, nil
}

// stoppedEarly prints the summary of a mirror that the user has stopped before it began. If the
// time of --for was too short for that, it returns an error with what it was waiting for.
func (f *mirrorFlags) stoppedEarly(ctx context.Context, cmd *cobra.Command, err error) error {
	if errors.Is(context.Cause(ctx), cli.ErrForEnded) {
		return err
	}
	out := report.NewPrinter(cmd.OutOrStdout(), report.Options{Format: f.output.format})
	out.Print(mirror.New(mirror.Options{}).Summary()) //nolint:contextcheck // a trace has no context
	return out.Close()
}
