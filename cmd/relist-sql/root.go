package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
)

// exitFenced is an exit status besides those of package cli: another program writes to the copies
// now.
const exitFenced = 3

// run runs the command and returns the exit status. It ends soon after ctx does.
func run(ctx context.Context, args []string, output, stderr io.Writer) int {
	root := newRoot() //nolint:contextcheck // commands take the context that Execute gives them
	return cli.Execute(ctx, root, func(root *cobra.Command) { cli.Prepare(root, cli.HelpWidth(output)) }, args, output, stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "relist-sql",
		Short: "Keep Kubernetes resources in a database, and query them",
		Long: `relist-sql keeps a copy of Kubernetes resources in SQLite or PostgreSQL, where
everything that knows SQL can read it. After a restart it continues where it was.

Exit status: 0 if the command succeeded, 1 if it failed, 2 if the command line
was not understood, 3 if another program writes to the copy now.`,
		Example: `  relist-sql mirror pods,deploy -A --to sqlite:cluster.db
  relist-sql query cluster.db                # which tables are there?
  relist-sql query cluster.db 'SELECT namespace, count(*) FROM pods GROUP BY 1'
  relist-sql status cluster.db               # how old is it, and is it whole?`,
		Version: cli.Version(),
	}
	cli.OnlyCommands(root, "command")
	root.SetVersionTemplate("relist-sql {{.Version}}\n")
	root.AddCommand(newMirror(), newQuery(), newStatus(), cli.NewVersion("relist-sql"))
	return root
}
