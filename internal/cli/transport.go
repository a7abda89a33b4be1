package cli

import (
	"github.com/spf13/cobra"

	"github.com/relist-go/relist/transport"
)

// AddTransport defines --transport.
func AddTransport(cmd *cobra.Command, watches *transport.WatchTransport) {
	AddChoice(cmd, watches, "transport",
		"how watches travel: auto, which is http; http; or websocket, for proxies that hold\na response back until it is whole",
		Choice[transport.WatchTransport]{"auto", transport.WatchAuto},
		Choice[transport.WatchTransport]{"http", transport.WatchHTTP},
		Choice[transport.WatchTransport]{"websocket", transport.WatchWebSocket})
}
