package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// NewVersion returns the command that prints the version of a program.
func NewVersion(program string) *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version of " + program + ", and the commit that it was built from",
		Args:              NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", program, Version())
			return err
		},
	}
}

// Version returns the version of the program from its build information.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown (" + runtime.Version() + ")"
	}
	return versionOf(info)
}

// versionOf names the version of the module and, if the program was built in a checkout, the
// commit.
func versionOf(info *debug.BuildInfo) string {
	release := info.Main.Version
	if release == "" || release == "(devel)" {
		release = "devel"
	}
	var origin []string
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision != "" {
		origin = append(origin, "commit "+revision+dirty)
	}
	return release + " (" + strings.Join(append(origin, info.GoVersion), ", ") + ")"
}
