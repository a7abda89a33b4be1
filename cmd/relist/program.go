package main

import (
	"context"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/cmd/internal/cli"
)

// The names of a plugin of kubectl: kubectl runs the first for `kubectl relist`, and asks
// the second how to complete what follows.
// Source: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
const (
	pluginName    = "kubectl-relist"
	completerName = "kubectl_complete-relist"
)

// runAs runs the command by the name by which it was called, and returns the exit status.
func runAs(ctx context.Context, program string, args []string, output, stderr io.Writer) int {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if name == completerName {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	root := newRoot() //nolint:contextcheck // commands take the context that Execute gives them
	return cli.Execute(ctx, root, func(root *cobra.Command) {
		if name == pluginName || name == completerName {
			becomePlugin(root)
		}
		cli.Prepare(root, cli.HelpWidth(output))
	}, args, output, stderr)
}

// ofCommand is a command in a text of help.
var ofCommand = regexp.MustCompile(`\brelist (demo|mirror|record|relay|replay|serve|version)\b`)

// becomePlugin lets help and errors call the command as a user of kubectl does.
func becomePlugin(root *cobra.Command) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl relist"}
	for _, cmd := range append(root.Commands(), root) {
		cmd.Long = ofCommand.ReplaceAllString(cmd.Long, "kubectl relist $1")
		cmd.Example = ofCommand.ReplaceAllString(cmd.Example, "kubectl relist $1")
	}
}
