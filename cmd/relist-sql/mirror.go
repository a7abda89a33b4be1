package main

import (
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/relist-sql/internal/database"
	"github.com/relist-go/relist/transport"
)

type mirrorFlags struct {
	cli.Selection
	transport transport.WatchTransport

	to          string
	schema      string
	shared      bool
	standby     bool
	cluster     string
	label       string
	columns     []string
	drop        []string
	keepManaged bool
	history     time.Duration
	once        bool
	verify      time.Duration
	status      statusFlags

	place database.Place
}

func newMirror() *cobra.Command {
	f := &mirrorFlags{Selection: cli.Selection{Program: "relist-sql"}}
	cmd := &cobra.Command{
		Use:   "mirror RESOURCE[.VERSION.GROUP][,...] --to DATABASE",
		Short: "Keep a copy of resources in a database",
		Long: `Keep a copy of resources in a database until Ctrl-C, one table for each:
pods, deployments_apps. A resource is written as for kubectl. Without -n and -A,
relist-sql takes the namespace of the kubeconfig's context, or else "default".

DATABASE is one of
  sqlite:FILE                      created if it does not exist
  postgres://USER@HOST/DATABASE    tables in the schema of --schema; PGPASSWORD
                                   or ~/.pgpass has the password
Each table has the columns cluster, key (namespace/name), namespace, name, uid,
resource_version, labels, created and object, which is the whole object as JSON,
without metadata.managedFields. --columns adds more, each with an index. The
table relist_state says at which version of the server the rows of each table
are; while that is empty, the first list is not whole. Rows and version change
in one transaction.

If relist-sql is stopped or killed, it continues from the last commit, and lists
nothing if the server still has that version. What it missed comes then. A
server that is away stops nothing, and neither does a database that is away or
full: relist-sql says so once, waits, and continues from the last commit. With
other selectors than before, rows that no longer match are deleted.

A copy belongs to one cluster, by the UID of the namespace kube-system, which
relist-sql must be allowed to get, or by --cluster. --label is the name of the
cluster in the column cluster, so that several clusters can be in one table.

A copy has one writer. The one that opens it last continues, and the other ends
with exit status 3. A file of SQLite has one program, except if all that open it
have --shared, which is for programs that write different copies. With --standby
(PostgreSQL), relist-sql waits until no other program with --standby writes to
the schema, and then takes over.

--once ends with exit status 0 as soon as every copy is what the server had when
relist-sql was started.

With --status-listen, HTTP says how the copies are:
  /healthz  200; or 503 with the reason, while a resource has not been copied
            once, or while a copy is staler than --max-staleness
  /readyz   503 until every resource has been copied once
  /status   a JSON object; "copies" has an object for each resource, with
            committedVersion, committedAt, pending (changes that wait for their
            commit), lagSeconds (for how long they do), unsure (keys whose rows
            may be wrong), moreUnsure (how many more rows may be wrong, whose
            keys are not known), changes (rows written), commits,
            commitFailures, copyFailingSince and copyError (of the database),
            state, stalenessSeconds (if that is known), lastByte, lastEvent,
            lastBookmark, failingSince, lastError (which stays when requests
            succeed again, while failingSince goes)
  /metrics  for Prometheus: those of the reflector, and relist_sink_...
Everyone who can reach the address can read it, so leave it on loopback or
inside a cluster's network.`,
		Example: `  relist-sql mirror pods,deploy -A --to sqlite:cluster.db
  relist-sql mirror pods -A --to sqlite:cluster.db --columns node=.spec.nodeName
  relist-sql mirror pods,nodes -A --to sqlite:cluster.db \
      --columns pods:node=.spec.nodeName --columns team=.metadata.labels.team
  relist-sql mirror secrets -A --drop data --to sqlite:names-of-secrets.db
  relist-sql mirror pods -A --history 24h --to sqlite:cluster.db
  relist-sql mirror pods -A --once --to sqlite:cluster.db   # in a cron job
  relist-sql mirror pods -A --standby --to postgres://relist@db.internal/fleet \
      --label east --status-listen 127.0.0.1:8081 --max-staleness 3m`,
		Args:              cli.SomeResources,
		PreRunE:           func(*cobra.Command, []string) error { return f.check() },
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, cli.ResourceNames(args)) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.to, "to", "", "the `database`: sqlite:FILE or postgres://USER@HOST/DATABASE")
	f.Add(flags, "copy")
	flags.StringArrayVar(&f.columns, "columns", nil, "another `column`, such as node=.spec.nodeName, of every table; or pods:node=.spec.nodeName, of\none; may be given several times")
	flags.StringArrayVar(&f.drop, "drop", nil, "leave out this `member` of every object, such as status or spec.containers.env; may be given several times")
	flags.BoolVar(&f.keepManaged, "keep-managed-fields", false, "keep metadata.managedFields, which is left out otherwise")
	flags.DurationVar(&f.history, "history", 0, "keep former states for this time, such as 24h, in tables such as pods_history (default: none)")
	flags.StringVar(&f.cluster, "cluster", "", "`name` that identifies the cluster (default: the UID of its namespace kube-system)")
	flags.StringVar(&f.label, "label", "", "`name` of the cluster in the column cluster")
	flags.StringVar(&f.schema, "schema", database.DefaultSchema, "schema of PostgreSQL that has the tables")
	flags.BoolVar(&f.standby, "standby", false, "wait until no other program with --standby writes to the schema (PostgreSQL)")
	flags.BoolVar(&f.shared, "shared", false, "let other programs with --shared write other copies to the file (SQLite)")
	flags.BoolVar(&f.once, "once", false, "end when every copy is what the server has")
	flags.DurationVar(&f.verify, "verify", 6*time.Hour, "compare the rows with the server after each period of this length, by a list of\nmetadata, and repair what differs; 0: never")
	flags.IntVar(&f.PageSize, "page-size", 0, "objects asked for in one list request; negative: all at once\n(default: 500, or all at once where the server answers only that from its cache)")
	f.status.Add(flags, "/status, /healthz, /readyz and /metrics", "a copy")
	cli.AddTransport(cmd, &f.transport)
	f.Connect.Add(flags)
	cli.CompleteWords(cmd, "to", "sqlite:", "postgres://")
	return cmd
}

func (f *mirrorFlags) check() (err error) {
	if err := f.Check(); err != nil {
		return err
	}
	if f.to == "" {
		return cli.Usage("name a database with --to, such as --to sqlite:cluster.db")
	}
	if f.place, err = database.Parse(f.to, false); err != nil {
		return cli.Usage("--to: %w", err)
	}
	switch sqlite := f.place.File != ""; {
	case f.history < 0:
		return cli.Usage("--history %s: want a positive time, such as 24h", f.history)
	case sqlite && f.schema != database.DefaultSchema:
		return cli.Usage("--schema is for PostgreSQL: a file of SQLite has none")
	case sqlite && f.standby:
		return cli.Usage("--standby is for PostgreSQL: with SQLite, start the second program when the first has ended")
	case !sqlite && f.shared:
		return cli.Usage("--shared is for SQLite: a database of PostgreSQL is always shared")
	case f.verify < 0:
		return cli.Usage("--verify %s: want a positive time, such as 6h, or 0", f.verify)
	case f.once && f.standby:
		return cli.Usage("--once and --standby cannot be used together")
	}
	f.place.Schema = f.schema
	for _, text := range f.columns {
		if _, err := parseColumn(text); err != nil {
			return err
		}
	}
	return f.status.Check()
}

// column is a value of --columns.
type column struct {
	resource string // empty: every one
	spec     string // name=.path
}

var columnRule = regexp.MustCompile(`^[a-z_][a-z0-9_]*=[.\[]`)

// parseColumn reads pods:node=.spec.nodeName. What is right of the last colon before the = is
// checked here only so far that a mistake is told before the first request; the database has the
// rules.
func parseColumn(text string) (c column, err error) {
	left, path, found := strings.Cut(text, "=")
	if resource, name, ok := strings.Cut(left, ":"); ok {
		c.resource, left = resource, name
		if resource == "" {
			found = false
		}
	}
	c.spec = left + "=" + path
	if !found || !columnRule.MatchString(c.spec) {
		return c, cli.Usage("--columns %s: want NAME=.PATH, such as node=.spec.nodeName, or RESOURCE:NAME=.PATH", text)
	}
	return c, nil
}

// statusFlags are the flags of `relist-sql mirror` that concern its status.
type statusFlags struct{ cli.StatusFlags }

// columnsOf returns the columns of a resource, and fails for columns of resources that are not
// mirrored.
func (f *mirrorFlags) columnsOf(targets []*target) error {
	for _, text := range f.columns {
		c, err := parseColumn(text)
		if err != nil {
			return err
		}
		found := false
		for _, t := range targets {
			if c.resource == "" || t.is(c.resource) {
				t.columns, found = append(t.columns, c.spec), true
			}
		}
		if !found {
			return cli.Usage("--columns %s: %s is not among the resources to mirror", text, c.resource)
		}
	}
	return nil
}
