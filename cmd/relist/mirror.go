package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

type mirrorFlags struct {
	cli.Selection
	transport  transport.WatchTransport
	resync     time.Duration
	verify     time.Duration
	initial    reflector.InitialList
	runFor     time.Duration
	exitOnSync bool
	encoding   listwatch.Encoding
	metadata   bool // and nothing else of objects
	status     cli.StatusFlags
	output     outputFlags
}

func newMirror() *cobra.Command {
	f := &mirrorFlags{Selection: cli.Selection{Program: "relist"}}
	cmd := &cobra.Command{
		Use:   "mirror RESOURCE[.VERSION.GROUP][,...]",
		Short: "Keep a copy of a resource and print every change",
		Long: `Keep a copy of a resource in memory, and print every change and every step
taken to keep it right, until Ctrl-C or --for.

RESOURCE is written as for kubectl: pods, pod, po, deployments.apps,
deployments.v1.apps. If there are several, as in pods,configmaps, each line
names its resource. Without -n and -A, relist takes the namespace of the
kubeconfig's context, or else "default". relist keeps whole objects, as the
bytes that the server sent, unless --metadata-only is given.

With -o text, stdout has a line for each change. The objects of the first list
are only counted, and so are objects of a later list that have not changed. On a
terminal, the line at the bottom says what state the copy is in. --diff adds the
fields that have changed: ~ changed, + added, - removed.

Other outputs show the objects themselves, those of the first list too:
  yaml                 documents, each below a comment with what happened
  json-object          {"type":"Updated","object":{...}} on each line
  none                 nothing but the summary
With these, problems are logged on stderr: one line when requests begin to fail,
one for each further reason, and one when they work again. A string with control
characters is printed in quotes or with escapes.

With -o json, stdout has one JSON object on each line. Its "kind" says what
happened:
  delta     an object was Added, Updated, Deleted, listed (Replaced), or offered
            again (Sync); "inferred" marks a deletion that no watch reported.
            The line has key, uid and resourceVersion, not the object itself,
            and with --diff "changes": path, old, new
  synced    every object of the first list has been applied
  list      a list has arrived           watch     a watch was requested
  bookmark  all events before it came    watchEnd  a watch was refused or ended
  relist    a list is needed             backoff   a wait before a request
  problem   an error                     summary   counts and a digest; the last
If a watch breaks and cannot be opened because the server is away, there is no
problem, but a watchEnd and backoffs. Each line has "time", and "resource" if
there are several. The lines about one object are in order. A line about the
connection may come before the deltas that the connection brought earlier.

SIGUSR1 (on Unix) prints on stderr how fresh the copy is. With --status-listen,
so does HTTP:
  /healthz  200; or 503 with the reason, before the first list has been applied
            and while the copy is staler than --max-staleness
  /readyz   503 before the first list has been applied, 200 from then on
  /status   a JSON object: time, resource, server, healthy, reason, state
            (listing, opening, watching, waiting, stopped), since, synced,
            objects, pending (changed objects that wait to be applied),
            resourceVersion, stalenessSeconds, maxStalenessSeconds, lastByte,
            lastEvent, lastBookmark, failingSince, lastError, lastErrorTime,
            nextRetry, and quarantined: the objects that could not be used, each
            with key, uid, resourceVersion, since, nextTry, error
Times are RFC 3339. A field for something that has not happened is left out.
lastError stays after a recovery, while failingSince is left out again.
The copy's staleness is the time since the server last sent anything while a
watch was open, or accepted one; until the first watch, the time since the
start. Everyone who can reach the address can read the status, so leave it on
loopback or inside a cluster's network. Web pages cannot read it: relist
refuses requests from other origins, and requests for a host other than
localhost, an address or --status-host.`,
		Example: `  relist mirror pods -A
  relist mirror deploy -n web -l app=shop --diff --for 10m
  relist mirror pods,configmaps -A
  relist mirror pods -A -o json-object | jq -r '.object.spec.nodeName'
  relist mirror configmaps -A -o json | jq -c 'select(.kind == "delta")'
  relist mirror pods -A -o none --exit-on-sync   # how long, how much memory?
  relist mirror cm -A --server http://127.0.0.1:8001  # behind kubectl proxy
  relist mirror pods -A --transport websocket    # a proxy on the way buffers
  relist mirror pods -A --metadata-only --encoding json
  relist mirror pods -A --initial watch --verify 1h # a server short of memory
  relist mirror pods -A --status-listen 127.0.0.1:8081 --max-staleness 3m`,
		Args:              cli.SomeResources,
		PreRunE:           f.check,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, cli.ResourceNames(args)) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.Add(flags, "mirror")
	f.output.add(cmd)
	cli.AddFor(flags, &f.runFor)
	flags.BoolVar(&f.exitOnSync, "exit-on-sync", false, "stop when the first list has been applied")
	flags.DurationVar(&f.resync, "resync", 0, "offer every object again after each period of this length (default: never)")
	flags.DurationVar(&f.verify, "verify", 0, "compare the copy with the server after each period of this length, by a list of\nmetadata, and repair what differs (default: never)")
	addInitial(cmd, &f.initial)
	flags.IntVar(&f.PageSize, "page-size", 0, "objects asked for in one list request; negative: all at once\n(default: 500, or all at once where the server answers only that from its cache)")
	cli.AddChoice(cmd, &f.encoding, "encoding", "ask for objects as json or protobuf; the server decides. auto: protobuf,\nor json if fields of objects are printed (default: auto)",
		cli.Choice[listwatch.Encoding]{Word: "auto", Value: listwatch.Auto},
		cli.Choice[listwatch.Encoding]{Word: "json", Value: listwatch.JSON},
		cli.Choice[listwatch.Encoding]{Word: "protobuf", Value: listwatch.Protobuf})
	flags.BoolVar(&f.metadata, "metadata-only", false, "ask for the metadata of objects alone")
	f.status.Add(flags, "/status, /healthz and /readyz", "the copy")
	cli.AddTransport(cmd, &f.transport)
	f.Connect.Add(flags)
	return cmd
}

func (f *mirrorFlags) check(cmd *cobra.Command, args []string) error {
	if err := f.output.check(cmd); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	if f.output.needsJSON() {
		if f.encoding != listwatch.Auto && f.encoding != listwatch.JSON {
			return cli.Usage("--encoding %s: want json, because fields of objects are printed", cmd.Flag("encoding").Value)
		}
		f.encoding = listwatch.JSON
	}
	if len(cli.ResourceNames(args)) > 1 && f.status.Listen != "" {
		return cli.Usage("--status-listen is for one resource: run the command once for each")
	}
	if f.resync < 0 {
		return cli.Usage("--resync %s: want a positive time", f.resync)
	}
	if f.verify < 0 {
		return cli.Usage("--verify %s: want a positive time", f.verify)
	}
	return f.status.Check()
}

func addInitial(cmd *cobra.Command, initial *reflector.InitialList) {
	cli.AddChoice(cmd, initial, "initial",
		"how to get the first state: list, whatever state the server has cached; recent, a\nlist of the most recent state; or watch, as the first events of a watch, which takes\nthe least memory of the server (default: list)",
		cli.Choice[reflector.InitialList]{Word: "list", Value: reflector.FromCache},
		cli.Choice[reflector.InitialList]{Word: "recent", Value: reflector.Consistent},
		cli.Choice[reflector.InitialList]{Word: "watch", Value: reflector.Streaming})
}
