package cli

import "github.com/spf13/cobra"

// CompleteWords lets the shell complete a flag's value. The shell chooses the words that fit.
func CompleteWords(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		// unreachable: the flag was defined before.
		panic("cli: " + err.Error())
	}
}
