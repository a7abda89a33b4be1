// Command copy keeps the ConfigMaps of a server in a table, and prints what it does: a line of JSON
// each. The tests of package sinks run and kill it.
//
// It refuses objects that have the text "refuse me", besides those that the database cannot store.
// If another program takes over, it exits with the status 3.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/durable"
	"github.com/relist-go/relist/durable/postgres"
	"github.com/relist-go/relist/durable/sqlite"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// Line is a line of the output.
type Line struct {
	What    string // opened, part, commit, failed, relist, problem
	Epoch   int64  `json:",omitempty"`
	Version string `json:",omitempty"`
	Before  string `json:",omitempty"` // commit: the version before
	List    bool   `json:",omitempty"`
	Count   int    `json:",omitempty"` // of changes, or of objects
	Key     string `json:",omitempty"`
	Text    string `json:",omitempty"` // an error, or a reason
}

// refused is the text that makes an object one that the program cannot use.
const refused = "refuse me"

var errRefused = errors.New("the program was asked to refuse this object")

type options struct {
	database, schema string
	server           string
	history          bool
	page, batch      int
	delay            time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.database, "database", "", "`file` of SQLite, or URL of PostgreSQL")
	flag.StringVar(&o.schema, "schema", "", "`name` of the schema of PostgreSQL")
	flag.StringVar(&o.server, "server", "", "`URL` of the API server")
	flag.BoolVar(&o.history, "history", false, "keep former states")
	flag.IntVar(&o.page, "page", 0, "objects a page of a list")
	flag.IntVar(&o.batch, "batch", 0, "changes a transaction")
	flag.DurationVar(&o.delay, "delay", 0, "the longest time before a commit")
	flag.Parse()
	signal.Ignore(syscall.SIGXFSZ) // a file that must not grow is an error, as a full disk is
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return
	case errors.Is(err, durable.ErrFenced):
		fmt.Fprintln(os.Stderr, "copy:", err)
		os.Exit(3)
	default:
		fmt.Fprintln(os.Stderr, "copy:", err)
		os.Exit(1)
	}
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func run(ctx context.Context, o options) error {
	to, check, closeDB, err := openCopy(ctx, o)
	if err != nil {
		return err
	}
	client, err := transport.NewClient(transport.Config{Server: o.server})
	if err != nil {
		return errors.Join(err, closeDB())
	}
	defer client.Close()
	opts := listwatch.Options[*listwatch.Raw]{
		Namespace: "default",
		Transform: func(raw *listwatch.Raw) (*listwatch.Raw, error) {
			if strings.Contains(string(raw.Bytes()), refused) {
				return nil, errRefused
			}
			return raw, check(raw.Bytes())
		},
	}
	source, err := listwatch.New(client, configMaps, opts)
	if err != nil {
		return errors.Join(err, closeDB())
	}
	trace, reflected := tell()
	m, err := durable.New(source, to, durable.Options{
		Stream:    durable.StreamOf("test", configMaps, opts, "json"),
		Reflector: reflector.Options{PageSize: o.page, Trace: reflected},
		BatchRows: o.batch, BatchDelay: o.delay,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Trace:  trace,
	})
	if err != nil {
		return errors.Join(err, closeDB())
	}
	return errors.Join(m.Run(ctx), closeDB())
}

// openCopy opens the table, and says which objects it cannot have.
func openCopy(ctx context.Context, o options) (durable.Copy[*listwatch.Raw], func([]byte) error, func() error, error) {
	table := durable.Table{Resource: configMaps}
	if o.history {
		table.History = time.Hour
	}
	encode := (*listwatch.Raw).MarshalJSON
	if strings.HasPrefix(o.database, "postgres://") {
		db, err := postgres.Open(ctx, o.database, postgres.Options{Schema: o.schema})
		if err != nil {
			return nil, nil, nil, err
		}
		c, err := postgres.New(db, table, encode)
		if err != nil {
			return nil, nil, nil, errors.Join(err, db.Close())
		}
		return c, postgres.Check, db.Close, nil
	}
	db, err := sqlite.Open(o.database, sqlite.Options{}) //nolint:contextcheck // it has no context
	if err != nil {
		return nil, nil, nil, err
	}
	c, err := sqlite.New(db, table, encode)
	if err != nil {
		return nil, nil, nil, errors.Join(err, db.Close())
	}
	return c, sqlite.Check, db.Close, nil
}

func tell() (*durable.Trace, *reflector.Trace) {
	out := json.NewEncoder(os.Stdout)
	tell := func(l Line) { _ = out.Encode(l) } // the test may have gone
	last := ""
	wrote := &durable.Trace{
		Opened: func(s durable.State) {
			last = s.Point.Version
			tell(Line{What: "opened", Epoch: s.Epoch, Version: last})
		},
		ListPart: func(n int) { tell(Line{What: "part", Count: n}) },
		Commit: func(c durable.Commit) {
			tell(Line{What: "commit", Version: c.Point.Version, Before: last, List: c.List, Count: c.Changes})
			last = c.Point.Version
		},
		Failed: func(f durable.Failure) { tell(Line{What: "failed", Text: f.Err.Error()}) },
	}
	read := &reflector.Trace{
		Relist: func(r reflector.Relist) { tell(Line{What: "relist", Text: r.Reason.String()}) },
		Problem: func(p reflector.Problem) {
			tell(Line{What: "problem", Key: p.Key, Text: cmp.Or(p.Err, errors.New("")).Error()})
		},
	}
	return wrote, read
}
