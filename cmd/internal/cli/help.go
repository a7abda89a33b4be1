package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relist-go/relist/cmd/internal/cli/report"
)

// Prepare breaks the descriptions of all flags at a width, and offers the shell no file for a flag
// that takes none.
func Prepare(root *cobra.Command, width int) {
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

// HelpWidth is how wide a text of help may be: as the terminal is, but no wider than people like to
// read.
func HelpWidth(output io.Writer) int {
	const usual, widest = 80, 120
	terminal := report.TerminalOf(output)
	if terminal == nil {
		return usual
	}
	return min(report.Columns(terminal), widest)
}
