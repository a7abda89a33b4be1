package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/report"
	"github.com/relist-go/relist/cmd/relist-sql/internal/database"
)

func newStatus() *cobra.Command {
	f := &readFlags{}
	cmd := &cobra.Command{
		Use:   "status DATABASE",
		Short: "Say how each copy in a database is",
		Long: `Say for each copy in a database of relist-sql mirror which resource it has, at
which version of the server its rows are, and which rows may be wrong. DATABASE
is a file of SQLite, or postgres://USER@HOST/DATABASE.`,
		Example: `  relist-sql status cluster.db
  relist-sql status postgres://reader@db.internal/fleet`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage("name one database, such as cluster.db")
			}
			return nil
		},
		ValidArgsFunction: completeFile,
		PreRunE:           func(_ *cobra.Command, args []string) error { return f.check(args[0]) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.read(cmd.Context(), func(r database.Reader) error {
				streams, err := r.Streams(cmd.Context())
				if err != nil {
					return err
				}
				return printStreams(cmd.OutOrStdout(), f.place, streams, time.Now())
			})
		},
	}
	f.add(cmd)
	return cmd
}

// shownUnsure is how many unsure keys are printed.
const shownUnsure = 10

// printStreams prints a headline and a table for each copy.
func printStreams(out io.Writer, place database.Place, streams []database.Stream, now time.Time) error {
	if len(streams) == 0 {
		_, err := fmt.Fprintf(out, "%s has no copies yet\n", place)
		return err
	}
	var b strings.Builder
	for i, s := range streams {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s%s\n", s.Table, report.FormatRows(streamRows(s, now)))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func streamRows(s database.Stream, now time.Time) []report.Row {
	of, point := s.State.Stream, s.State.Point
	var rows []report.Row
	add := func(name, format string, args ...any) {
		rows = append(rows, report.Row{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	add("resource", "%s, version %s", report.Word(of.String()), report.Word(of.Version))
	cluster := report.Word(of.Cluster)
	if s.Label != "" {
		cluster = report.Word(s.Label) + ", " + cluster
	}
	add("cluster", "%s", cluster)
	for _, selector := range []report.Row{{Name: "labels", Value: of.LabelSelector}, {Name: "fields", Value: of.FieldSelector}} {
		if selector.Value != "" {
			add(selector.Name, "%s", report.Word(selector.Value))
		}
	}
	add("rows", "%d", s.Rows)
	switch {
	case point.Version != "":
		add("version", "%s, written %s", report.Word(point.Version), ago(now, s.CurrentAt))
	case s.CurrentAt.IsZero():
		add("version", "(none): the first list is not whole; rows may be missing")
	default:
		add("version", "(none), and none was written since %s: rows are of different times, and some may be missing", ago(now, s.CurrentAt))
	}
	add("last commit", "%s", ago(now, s.Committed))
	add("unsure", "%d", unsure(point))
	shown := point.Unsure[:min(len(point.Unsure), shownUnsure)]
	for _, key := range shown {
		add("", "%s", report.Word(key))
	}
	if more := unsure(point) - len(shown); more > 0 {
		add("", "and %d more", more)
	}
	if s.State.Unselected {
		add("selectors", "they were changed: some rows may be of others until the next list")
	}
	if s.State.Reshaped {
		add("shape", "it was changed, by --drop for example: the rows of unsure keys may have the old one")
	}
	switch {
	case s.History && s.Off:
		add("history", "%s_history, off: the states that it has as present may have ended; %s, %d by a list", s.Table, report.Count(int(s.Gaps), "gap"), s.Lists)
	case s.History:
		add("history", "%s_history, %s, %d by a list", s.Table, report.Count(int(s.Gaps), "gap"), s.Lists)
	}
	add("opened", "%s", report.Count(int(s.State.Epoch), "time"))
	return rows
}

// clocksDiffer is by how much the clocks of two machines that are right may differ.
const clocksDiffer = time.Minute

// ago says when something was written.
func ago(now, at time.Time) string {
	if ahead := at.Sub(now); ahead > clocksDiffer {
		return report.Short(ahead.Seconds()) + " from now (a clock is wrong)"
	}
	return report.Short(max(0, now.Sub(at).Seconds())) + " ago"
}
