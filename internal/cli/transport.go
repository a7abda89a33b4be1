package cli

import (
	"github.com/spf13/cobra"

	"github.com/relist-go/relist/transport"
)

// WatchTransport is the value of --transport: an index of watchTransports.
type WatchTransport int

// watchTransports are the words of --transport and their meanings.
var watchTransports = []struct {
	word    string
	watches transport.WatchTransport
}{
	{"auto", transport.WatchAuto},
	{"http", transport.WatchHTTP},
	{"websocket", transport.WatchWebSocket},
}

// AddTransport defines --transport.
func AddTransport(cmd *cobra.Command, t *WatchTransport) {
	cmd.Flags().Var(t, "transport", "how watches travel: auto, which is http; http; or websocket, for proxies that hold\na response back until it is whole")
	var words []string
	for _, known := range watchTransports {
		words = append(words, known.word)
	}
	CompleteWords(cmd, "transport", words...)
}

// Set implements [pflag.Value].
func (t *WatchTransport) Set(s string) error {
	for i, known := range watchTransports {
		if s == known.word {
			*t = WatchTransport(i)
			return nil
		}
	}
	return WantError("auto, http or websocket")
}

func (t *WatchTransport) String() string {
	if *t == 0 {
		return "" // so that help shows no default twice
	}
	return watchTransports[*t].word
}

// Type implements [pflag.Value].
func (*WatchTransport) Type() string { return "string" }

// Watches returns the value for transport.Config.
func (t *WatchTransport) Watches() transport.WatchTransport { return watchTransports[*t].watches }
