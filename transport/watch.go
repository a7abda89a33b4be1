package transport

import (
	"context"
	"net/http"
)

// WatchTransport is how the frames of watches travel. Lists go over HTTP always. There
// are no others than those below.
type WatchTransport interface {
	// String returns the name used in messages.
	String() string

	// watcher returns what opens the watches of a Client, which is ready but for that.
	watcher(c *Client, cfg Config) (watcher, error)
}

// What a program does not name here is not in its binary: the WebSocket, which is 0.3 MB.
var (
	// WatchAuto is what is best where nothing is known to speak against it, and that
	// is WatchHTTP. It is what nil stands for.
	WatchAuto WatchTransport = overHTTP{name: "auto"}

	// WatchHTTP is the body of a response, which does not end. With HTTP/2 many
	// watches share a connection.
	WatchHTTP WatchTransport = overHTTP{name: "HTTP"}

	// WatchWebSocket is the messages of a WebSocket, for the sake of proxies that hold
	// back a body until it is whole. It takes a connection of HTTP/1.1 for each watch,
	// whatever Protocol says of the other requests, and asks for the same path and
	// query. Where the handshake is answered as if nobody understood it, watches go
	// over HTTP: see [FallbackError].
	WatchWebSocket WatchTransport = overWebSocket{}
)

// watcher opens the watches of one Client.
type watcher interface {
	watch(ctx context.Context, req Request) (Stream, error)

	// close does what [Client.Close] does, for connections of its own.
	close()
}

// newWatcher is that of cfg.
func newWatcher(c *Client, cfg Config) (watcher, error) {
	if cfg.WatchTransport == nil {
		return WatchAuto.watcher(c, cfg)
	}
	return cfg.WatchTransport.watcher(c, cfg)
}

// overHTTP is [WatchAuto] and [WatchHTTP].
type overHTTP struct{ name string }

func (t overHTTP) String() string { return t.name }

func (overHTTP) watcher(c *Client, _ Config) (watcher, error) { return bodies{c}, nil }

// bodies opens watches over HTTP, on the connections of all other requests.
type bodies struct{ client *Client }

func (b bodies) watch(ctx context.Context, req Request) (Stream, error) {
	return b.client.watchHTTP(ctx, req)
}

func (bodies) close() {}

// watchHTTP opens a watch that is the body of a response.
func (c *Client) watchHTTP(ctx context.Context, req Request) (Stream, error) {
	resp, err := c.do(ctx, &exchange{op: "watch", via: c.connections}, req, func() {})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, resp.UnexpectedContent()
	}
	return newBodyStream(resp, c.maxFrame)
}
