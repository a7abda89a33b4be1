package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist-sql/internal/database"
	"github.com/relist-go/relist/internal/visible"
)

// readFlags are the flags of commands that read a database.
type readFlags struct {
	schema string
	place  database.Place
}

func (f *readFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.schema, "schema", database.DefaultSchema, "schema of PostgreSQL that has the tables")
}

func (f *readFlags) check(text string) (err error) {
	if f.place, err = database.Parse(text, true); err != nil {
		return cli.Usage("%w", err)
	}
	if f.place.File != "" && f.schema != database.DefaultSchema {
		return cli.Usage("--schema is for PostgreSQL: a file of SQLite has none")
	}
	f.place.Schema = f.schema
	return nil
}

func (f *readFlags) read(ctx context.Context, do func(database.Reader) error) error {
	r, err := database.Read(ctx, f.place)
	if err == nil {
		err = cmp.Or(do(r), r.Close())
	}
	if ctx.Err() == nil {
		return err
	}
	return nil // Ctrl-C
}

func newQuery() *cobra.Command {
	f := &readFlags{}
	output := "table"
	cmd := &cobra.Command{
		Use:   "query DATABASE [STATEMENT]",
		Short: "Read a copy with SQL",
		Long: `Run one statement on a database of relist-sql mirror, and print the rows.
Without a statement, list the tables. DATABASE is a file of SQLite, or
postgres://USER@HOST/DATABASE. A statement cannot change it, and can be run
while relist-sql mirror writes. It sees every table as it was at one moment.

Outputs:
  table  for people. Control characters are printed with escapes; NULL is
         <null>
  csv    RFC 4180, with a line of names. NULL is an empty field, and an empty
         string is ""
  json   an object for each row, on a line of its own`,
		Example: `  relist-sql query cluster.db
  relist-sql query cluster.db 'SELECT key FROM pods WHERE node IS NULL'
  relist-sql query cluster.db -o json 'SELECT * FROM relist_state' | jq .
  relist-sql query postgres://reader@db.internal/fleet 'SELECT count(*) FROM pods'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usage("name a database, such as cluster.db")
			case len(args) > 2:
				return cli.Usage("want one statement: write it in quotes")
			case len(args) == 2 && strings.TrimSpace(args[1]) == "":
				return cli.Usage("the statement is empty")
			}
			return nil
		},
		ValidArgsFunction: completeFile,
		PreRunE: func(_ *cobra.Command, args []string) error {
			if output != "table" && output != "csv" && output != "json" {
				return cli.Usage("output format %q: want table, csv or json", output)
			}
			return f.check(args[0])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.read(cmd.Context(), func(r database.Reader) error {
				out := newRows(cmd.OutOrStdout(), output)
				if len(args) == 1 {
					return overview(cmd.Context(), r, out, time.Now())
				}
				err := r.Query(cmd.Context(), args[1], out.begin, out.row)
				if err != nil {
					return explainStatement(args[1], err)
				}
				return out.end()
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "table, csv or json")
	f.add(cmd)
	cli.CompleteWords(cmd, "output", "table", "csv", "json")
	return cmd
}

// completeFile lets the shell complete the name of a file, and no statement.
func completeFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// explainStatement shows where an error is in the statement.
func explainStatement(statement string, err error) error {
	var at *database.StatementError
	if errors.As(err, &at) && strings.HasPrefix(err.Error(), "no such table: ") { // the words of SQLite
		return fmt.Errorf("%w; relist-sql status lists the tables", err)
	}
	if at == nil || at.Offset < 0 || at.Offset > len(statement) {
		return err
	}
	before, rest := statement[:at.Offset], statement[at.Offset:]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	where := fmt.Sprintf("at column %d", column)
	if strings.Contains(statement, "\n") {
		where = fmt.Sprintf("at line %d, column %d", line, column)
	}
	word, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	if word == "" {
		return fmt.Errorf("%w; at the end of the statement", err)
	}
	return fmt.Errorf("%w; %s: %s", err, where, visible.OneLine(report.Cut(word, 40)))
}

// overview lists the tables.
func overview(ctx context.Context, r database.Reader, out rows, now time.Time) error {
	streams, err := r.Streams(ctx)
	if err != nil {
		return err
	}
	if err := out.begin([]string{"table", "cluster", "rows", "version", "unsure", "age"}); err != nil {
		return err
	}
	text := func(s string) database.Cell { return database.Cell{Kind: database.Text, Text: s} }
	number := func(n int64) database.Cell { return database.Cell{Kind: database.Number, Text: fmt.Sprint(n)} }
	for _, s := range streams {
		version := database.Cell{}
		if s.State.Point.Version != "" {
			version = text(s.State.Point.Version)
		}
		err := out.row([]database.Cell{
			text(s.Table), text(s.Label), number(s.Rows), version, number(int64(unsure(s.State.Point))),
			text(duration.HumanDuration(max(0, now.Sub(s.Committed)))),
		})
		if err != nil {
			return err
		}
	}
	return out.end()
}
