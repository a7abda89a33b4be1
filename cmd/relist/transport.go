package main

import (
	"github.com/spf13/cobra"

	"github.com/relist-go/relist/transport"
)

// watchTransport is the value of --transport: an index of watchTransports.
type watchTransport int

// watchTransports are the words of --transport and their meanings.
var watchTransports = []struct {
	word    string
	watches transport.WatchTransport
}{
	{"auto", transport.WatchAuto},
	{"http", transport.WatchHTTP},
	{"websocket", transport.WatchWebSocket},
}

// addTransport defines --transport.
func addTransport(cmd *cobra.Command, t *watchTransport) {
	cmd.Flags().Var(t, "transport", "how watches travel: auto, which is http; http; or websocket, for proxies that hold\na response back until it is whole")
	var words []string
	for _, known := range watchTransports {
		words = append(words, known.word)
	}
	completeWords(cmd, "transport", words...)
}

func (t *watchTransport) Set(s string) error {
	for i, known := range watchTransports {
		if s == known.word {
			*t = watchTransport(i)
			return nil
		}
	}
	return errWant("auto, http or websocket")
}

func (t *watchTransport) String() string {
	if *t == 0 {
		return "" // so that help shows no default twice
	}
	return watchTransports[*t].word
}

func (*watchTransport) Type() string { return "string" }

// watches returns the value for transport.Config.
func (t *watchTransport) watches() transport.WatchTransport { return watchTransports[*t].watches }
