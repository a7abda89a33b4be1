package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
)

// run runs the command as relist and returns the exit status. It ends soon after ctx does.
func run(ctx context.Context, args []string, output, stderr io.Writer) int {
	return runAs(ctx, "relist", args, output, stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "relist",
		Short: "Mirror a Kubernetes resource, and see what it takes",
		Long: `relist keeps a local copy of a Kubernetes resource in step with the API server:
it lists, watches, and lists again when it has to.

Exit status: 0 if the command succeeded, 1 if it failed, 2 if the command line
was not understood.`,
		Example: `  relist demo                      # mirror a server that misbehaves
  relist mirror pods -A            # mirror a real one, until Ctrl-C
  relist serve --objects 1000      # run the misbehaving server alone
  relist relay pods --anonymous    # serve one watch to many readers
  relist record pods -A -o t.txt   # record the answers of a cluster
  relist replay t.txt              # and play it again`,
		Version: cli.Version(),
	}
	cli.OnlyCommands(root, "command")
	root.SetVersionTemplate("relist {{.Version}}\n")
	root.AddCommand(newDemo(), newMirror(), newServe(), newRelay(), newReplay(), newRecord(), cli.NewVersion("relist"))
	return root
}
