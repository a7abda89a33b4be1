package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/relist/internal/connect"
	"github.com/relist-go/relist/cmd/relist/internal/mirror"
	"github.com/relist-go/relist/cmd/relist/internal/rawobject"
	"github.com/relist-go/relist/cmd/relist/internal/report"
	"github.com/relist-go/relist/cmd/relist/internal/status"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// startTimeout bounds the first request, so that a user soon learns that a command
// does not work.
const startTimeout = 4 * time.Second

// mirrorFlags are the flags of `relist mirror`.
type mirrorFlags struct {
	selection
	transport  watchTransport
	resync     time.Duration
	verify     time.Duration
	initial    initialState
	runFor     time.Duration
	exitOnSync bool
	encoding   encodingFlags
	status     statusFlags
	output     string
	format     report.Format
}

func newMirror() *cobra.Command {
	f := &mirrorFlags{}
	cmd := &cobra.Command{
		Use:   "mirror RESOURCE[.VERSION.GROUP]",
		Short: "Keep a copy of a resource and print every change",
		Long: `Keep a copy of a resource in memory, and print every change and every step taken to
keep it right, until Ctrl-C or --for.

RESOURCE is written as for kubectl: pods, pod, po, deployments.apps, deployments.v1.apps.
Without -n and -A, relist takes the namespace of the kubeconfig's context, or else
"default". It keeps whole objects, as the bytes that the server sent, unless
--metadata-only is given.

With -o json, stdout has one JSON object on each line. Its "kind" says what happened:
  delta      an object was Added, Updated, Deleted, Replaced (listed) or offered again
             (Sync); "inferred" marks a deletion that no watch reported.
             The line has key, uid and resourceVersion, but not the object itself
  synced     every object of the first list has been applied
  list       a list has arrived           watch      a watch was requested
  bookmark   all events before it came    watchEnd   a watch was refused or has ended
  relist     a list is needed             backoff    a pause before the next request
  problem    an error                     summary    counts and a digest; the last line
Each line has "time". The lines about one object are in order. A line about the connection may
come before the deltas that the connection brought earlier.

SIGUSR1 (on Unix) prints on stderr how fresh the copy is. With --status-listen, so does
HTTP:
  /healthz   200; or 503 with the reason, before the first list has been applied and while
             the copy is staler than --max-staleness
  /readyz    503 before the first list has been applied, 200 from then on
  /status    a JSON object: time, resource, server, healthy, reason, state (listing,
             opening, watching, waiting, stopped), since, synced, objects, pending (changed
             objects that wait to be applied), resourceVersion, stalenessSeconds,
             maxStalenessSeconds, lastByte, lastEvent, lastBookmark, failingSince, lastError,
             lastErrorTime, nextRetry, and quarantined: the objects that could not be used,
             each with key, uid, resourceVersion, since, nextTry, error
  /metrics   for Prometheus: lists, relists, watches, events, staleness, quarantine and others
Times are RFC 3339. A field for something that has not happened is left out. The copy's
staleness is the time since the last byte from the server, or the time since the last watch
ended, if that is longer; until the first list, the time since the start. Everyone who can
reach the address can read the status, so leave it on loopback or inside a cluster's network.
Web pages cannot read it: relist refuses requests from other origins, and requests for a host
other than localhost, an address or --status-host.`,
		Example: `  relist mirror pods -A
  relist mirror deploy -n web -l app=shop --for 10m
  relist mirror configmaps -A -o json | jq -c 'select(.kind == "delta")'
  relist mirror pods -A -o none --exit-on-sync       # how long, how much memory?
  relist mirror cm -A --server http://127.0.0.1:8001  # behind kubectl proxy
  relist mirror pods -A --transport websocket         # a proxy on the way buffers
  relist mirror pods -A --metadata-only --encoding json
  relist mirror pods -A --initial watch --verify 1h   # a server with little memory
  relist mirror pods -A --status-listen 127.0.0.1:8081 --max-staleness 3m`,
		Args:    oneResource,
		PreRunE: func(*cobra.Command, []string) error { return f.check() },
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.add(flags, "mirror")
	flags.StringVarP(&f.output, "output", "o", "text", "text, json, or none for the summary only")
	addFor(flags, &f.runFor)
	flags.BoolVar(&f.exitOnSync, "exit-on-sync", false, "stop when the first list has been applied")
	flags.DurationVar(&f.resync, "resync", 0, "offer every object again after each period of this length (default: never)")
	flags.DurationVar(&f.verify, "verify", 0, "compare the copy with the server after each period of this length, by a list of\nmetadata, and repair what differs (default: never)")
	addInitial(cmd, &f.initial)
	flags.IntVar(&f.pageSize, "page-size", 0, "objects asked for in one list request; negative: all at once\n(default: 500 where it does not keep the server from using its cache)")
	f.encoding.add(cmd)
	f.status.add(flags)
	addTransport(cmd, &f.transport)
	f.connect.Add(flags)
	completeWords(cmd, "output", "text", "json", "none")
	return cmd
}

// check checks the flags' values and parses them.
func (f *mirrorFlags) check() error {
	var err error
	if f.format, err = report.ParseFormat(f.output, report.Text, report.JSON, report.None); err != nil {
		return &usageError{err}
	}
	if err := f.selection.check(); err != nil {
		return err
	}
	if err := f.encoding.check(); err != nil {
		return err
	}
	if f.resync < 0 {
		return usage("--resync %s: want a positive time", f.resync)
	}
	if f.verify < 0 {
		return usage("--verify %s: want a positive time", f.verify)
	}
	return f.status.check()
}

// run connects, and then mirrors until it is stopped.
func (f *mirrorFlags) run(cmd *cobra.Command, name string) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	if f.runFor > 0 { // before the first request, so that a server that does not answer cannot prolong it
		timer := time.AfterFunc(f.runFor, stop)
		defer timer.Stop()
	}
	desk, err := f.status.open(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer desk.close()
	cfg, err := f.config(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	cfg.WatchTransport = f.transport.watches()
	client, err := transport.NewClient(cfg)
	if err != nil {
		return connect.Explain(err, cfg.Server, startTimeout)
	}
	defer client.Close()
	found, namespace, err := f.find(ctx, cmd.ErrOrStderr(), client, cfg, name)
	if ctx.Err() != nil {
		return f.stoppedEarly(cmd)
	}
	if err != nil {
		return err
	}
	source, err := listwatch.New(client, found.GroupVersionResource, listwatch.Options[*rawobject.Object]{
		Namespace:     namespace,
		LabelSelector: f.labels,
		FieldSelector: f.fields,
		Encoding:      encodings[f.encoding.name],
		MetadataOnly:  f.encoding.metadataOnly,
	})
	if err != nil {
		return err
	}
	return f.mirror(ctx, cmd, cfg, source, desk)
}

// mirror runs the pipeline until ctx ends, and prints the summary.
func (f *mirrorFlags) mirror(ctx context.Context, cmd *cobra.Command, cfg transport.Config, source *listwatch.Resource[*rawobject.Object], desk *statusDesk) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	opts := report.Terminal(cmd.OutOrStdout(), f.format)
	opts.Live = false
	opts.Failed = func(error) { stop() } // Close returns the error
	rules, err := f.rules(source)
	if err != nil {
		return err
	}
	out := report.NewPrinter(cmd.OutOrStdout(), opts)
	out.Say("mirroring %s from %s", source, cfg.Server)

	var counts status.Counts
	rules.Trace = counts.Trace()
	m := mirror.New(mirror.Options{
		Source:    source,
		Reflector: rules,
		Report: func(l report.Line) {
			out.Print(l)
			if _, synced := l.(report.Synced); synced && f.exitOnSync {
				stop()
			}
		},
		FailEarly: true,
	})
	desk.serve(&status.View{Mirror: m, Resource: source.String(), Server: cfg.Server, Counts: &counts, MaxStaleness: f.status.maxStaleness})
	err = m.Run(ctx)
	if err == nil {
		out.Print(m.Summary())
	} else {
		err = connect.Explain(err, cfg.Server, startTimeout)
	}
	if closeErr := out.Close(); err == nil && closeErr != nil {
		return fmt.Errorf("write the output: %w", closeErr)
	}
	return err
}

// rules returns the options of the reflector.
func (f *mirrorFlags) rules(source *listwatch.Resource[*rawobject.Object]) (reflector.Options, error) {
	opts := reflector.Options{PageSize: f.pageSize, Resync: f.resync, Initial: f.initial.value()}
	if f.verify > 0 {
		metadata, err := source.Metadata()
		if err != nil {
			return opts, fmt.Errorf("--verify: %w", err)
		}
		opts.Verify = reflector.Verify{Every: f.verify, Metadata: metadata}
	}
	return opts, nil
}

// stoppedEarly prints the summary of a mirror that was stopped before it began.
func (f *mirrorFlags) stoppedEarly(cmd *cobra.Command) error {
	out := report.NewPrinter(cmd.OutOrStdout(), report.Options{Format: f.format})
	out.Print(mirror.New(mirror.Options{}).Summary())
	return out.Close()
}

// completeWords lets the shell complete a flag's value.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		// unreachable: the flag was defined above.
		panic("relist: " + err.Error())
	}
}
