package main

import (
	"github.com/spf13/cobra"

	"github.com/relist-go/relist/internal/cli"
	"github.com/relist-go/relist/reflector"
)

// initialState is the value of --initial: an index of initialStates.
type initialState int

// initialStates are the words of --initial and their meanings.
var initialStates = []struct {
	word    string
	initial reflector.Initial
}{
	{"list", reflector.ListAny},
	{"recent", reflector.ListMostRecent},
	{"watch", reflector.Watch},
}

// addInitial defines --initial.
func addInitial(cmd *cobra.Command, i *initialState) {
	cmd.Flags().Var(i, "initial", "how to get the first state: list, whatever state the server has cached; recent, a\nlist of the most recent state; or watch, as the first events of a watch, which takes\nthe least memory of the server (default: list)")
	var words []string
	for _, known := range initialStates {
		words = append(words, known.word)
	}
	cli.CompleteWords(cmd, "initial", words...)
}

func (i *initialState) Set(s string) error {
	for n, known := range initialStates {
		if s == known.word {
			*i = initialState(n)
			return nil
		}
	}
	return cli.WantError("list, recent or watch")
}

func (i *initialState) String() string {
	if *i == 0 {
		return "" // so that help shows no default twice
	}
	return initialStates[*i].word
}

func (*initialState) Type() string { return "string" }

// value returns the value for reflector.Options.
func (i *initialState) value() reflector.Initial { return initialStates[*i].initial }
