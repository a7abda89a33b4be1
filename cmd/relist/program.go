package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relist-go/relist/cmd/relist/internal/report"
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
	return runRoot(ctx, func(root *cobra.Command) {
		if name == pluginName || name == completerName {
			becomePlugin(root)
		}
		prepare(root, helpWidth(output))
	}, args, output, stderr)
}

// ofCommand is a command in a text of help.
var ofCommand = regexp.MustCompile(`\brelist (demo|mirror|record|replay|serve|version)\b`)

// becomePlugin lets help and errors call the command as a user of kubectl does.
func becomePlugin(root *cobra.Command) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl relist"}
	for _, cmd := range append(root.Commands(), root) {
		cmd.Long = ofCommand.ReplaceAllString(cmd.Long, "kubectl relist $1")
		cmd.Example = ofCommand.ReplaceAllString(cmd.Example, "kubectl relist $1")
	}
}

// prepare breaks the descriptions of all flags at a width, and offers the shell no file for a flag that takes none.
func prepare(root *cobra.Command, width int) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", width)))
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			f.Usage = strings.ReplaceAll(f.Usage, "\n", " ")
			takes, _ := pflag.UnquoteUsage(f)
			if _, completed := cmd.GetFlagCompletionFunc(f.Name); !completed && takes != "file" {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions) // the flag exists, and has none
			}
		})
	}
}

// helpWidth is how wide a text of help may be: as the terminal is, but no wider than people like to read.
func helpWidth(output io.Writer) int {
	const usual, widest = 80, 120
	terminal := report.TerminalOf(output)
	if terminal == nil {
		return usual
	}
	columns, _ := report.Size(terminal)
	return min(columns, widest)
}
