package main

import (
	"github.com/spf13/cobra"

	"github.com/relist-go/relist/transport"
)

// watchTransport is the value of --transport.
type watchTransport transport.WatchTransport

// watchTransports are the words for it, in the order of the constants.
var watchTransports = []string{"auto", "http", "websocket"}

// addTransport defines --transport.
func addTransport(cmd *cobra.Command, t *watchTransport) {
	cmd.Flags().Var(t, "transport", "how watches travel: auto, which is http; http; or websocket, for proxies that hold\na response back until it is whole")
	completeWords(cmd, "transport", watchTransports...)
}

func (t *watchTransport) Set(s string) error {
	for i, word := range watchTransports {
		if s == word {
			*t = watchTransport(i) //nolint:gosec // three words
			return nil
		}
	}
	return errWant("auto, http or websocket")
}

func (t *watchTransport) String() string {
	if *t == 0 {
		return "" // so that help shows no default twice
	}
	return watchTransports[*t]
}

func (*watchTransport) Type() string { return "string" }

// watches is what transport.Config wants.
func (t *watchTransport) watches() transport.WatchTransport { return transport.WatchTransport(*t) }
