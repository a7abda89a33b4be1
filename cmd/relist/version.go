package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version of relist, and the commit that it was built from",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "relist %s\n", version())
			return err
		},
	}
}

// version returns the version of the program from its build information.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown (" + runtime.Version() + ")"
	}
	return versionOf(info)
}

// versionOf names the version of the module and, if the program was built in a checkout, the commit.
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
