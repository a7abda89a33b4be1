package main

import (
	"github.com/spf13/cobra"

	"github.com/relist-go/relist/internal/cli"
	"github.com/relist-go/relist/reflector"
)

// addInitial defines --initial.
func addInitial(cmd *cobra.Command, initial *reflector.Initial) {
	cli.AddChoice(cmd, initial, "initial",
		"how to get the first state: list, whatever state the server has cached; recent, a\nlist of the most recent state; or watch, as the first events of a watch, which takes\nthe least memory of the server (default: list)",
		cli.Choice[reflector.Initial]{Word: "list", Value: reflector.ListAny},
		cli.Choice[reflector.Initial]{Word: "recent", Value: reflector.ListMostRecent},
		cli.Choice[reflector.Initial]{Word: "watch", Value: reflector.Watch})
}
