package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Client sends requests to one API server. It may be used by several goroutines at
// once, and shares connections among them.
type Client struct {
	server      endpoint
	connections *connector
	credentials authorizer
	asUser      http.Header // of an impersonation; nil for none
	secrets     [][]byte    // of the proxy
	secretive   bool        // a credential may be sent
	userAgent   string
	gzip        bool // is asked for, but in watches
	gzipWatches bool // is asked for there, too
	onlyHTTP2   bool
	gets        limit
	pace        *pace
	maxFrame    int
	maxError    int
	problems    *problems
	watches     watcher
}

// NewClient checks cfg, reads the files it names, and connects to nothing yet.
func NewClient(cfg Config) (*Client, error) {
	c, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("transport config: %w", err)
	}
	return c, nil
}

func newClient(cfg Config) (*Client, error) {
	server, err := parseServer(cfg.Server)
	if err != nil {
		return nil, err
	}
	plugin, err := newExecPlugin(cfg)
	if err != nil {
		return nil, err
	}
	problems := &problems{tell: cfg.OnProblem}
	connections, err := newConnector(cfg, server, problems, plugin)
	if err != nil {
		return nil, err
	}
	if err := checkCleartext(cfg, connections); err != nil {
		return nil, err
	}
	creds, err := newAuthorizer(cfg, problems, plugin)
	if err != nil {
		return nil, err
	}
	asUser, err := cfg.Impersonate.header()
	if err != nil {
		return nil, err
	}
	gzip, err := wantsGzip(cfg, server)
	if err != nil {
		return nil, err
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = defaultUserAgent()
	}
	c := &Client{
		server:      server,
		connections: connections,
		credentials: creds,
		asUser:      asUser,
		secrets:     proxySecrets(connections.proxy),
		secretive:   keepsSecrets(cfg, connections),
		userAgent:   cfg.UserAgent,
		gzip:        gzip,
		gzipWatches: cfg.Compression == CompressionGzip,
		onlyHTTP2:   cfg.Protocol == ProtocolHTTP2,
		gets:        newLimit(cfg.MaxConcurrentGets),
		pace:        newPace(cfg.GetsPerSecond, cfg.GetBurst),
		maxFrame:    orDefault(cfg.MaxFrameBytes, defaultMaxFrameBytes),
		maxError:    orDefault(cfg.MaxErrorBytes, defaultMaxErrorBytes),
		problems:    problems,
	}
	c.watches, err = newWatcher(c, cfg)
	return c, err
}

// Close closes the connections that nothing is using. If requests are pending or
// bodies and streams open, the rest are closed when the last of these is. The Client
// stays usable, and needs another Close then.
func (c *Client) Close() {
	c.connections.close()
	c.watches.close()
}

// Get sends a request and returns the response, with the body still to be read, for
// any 2xx status. For any other it returns a [RequestError] over an
// *apierrors.StatusError. Redirects are not followed. When ctx ends, so do the
// request and the reading of the body.
func (c *Client) Get(ctx context.Context, req Request) (*Response, error) {
	release, err := c.gets.acquire(ctx)
	if err == nil {
		if err = c.pace.wait(ctx); err != nil {
			release()
		}
	}
	if err != nil {
		return nil, (&exchange{op: "get", url: c.server.name + req.Path}).fail(err)
	}
	return c.do(ctx, &exchange{op: "get", via: c.connections}, req, release)
}

// Watch sends a request and returns the frames of its endless response. The
// parameters that make it a watch are the caller's to put into Query. Any status
// but 200 is an error, and so is a format that is not known here: JSON, protobuf and
// CBOR are.
// Nothing but ctx, Close and the server ends the stream: it has no timeout.
func (c *Client) Watch(ctx context.Context, req Request) (Stream, error) {
	return c.watches.watch(ctx, req)
}

// do sends a request and returns its response if it is a success. Of the exchange, the
// caller says what is asked for and via which connections. It calls release once the
// exchange is over.
func (c *Client) do(ctx context.Context, x *exchange, req Request, release func()) (*Response, error) {
	x.url, x.onRead, x.known, x.status, x.end = c.server.name+req.Path, readHook(ctx), c.secrets, req.Status, func() {}
	x.done = func() {
		x.end()
		release()
	}
	ctx, x.cancel = context.WithCancelCause(ctx)
	x.ended = func() error { return endOf(ctx) }
	resp, err := c.try(ctx, x, req) //nolint:bodyclose // Response.Body is the caller's to close
	if err != nil {
		x.cancel(nil)
		x.done()
		return nil, x.fail(err)
	}
	var body io.ReadCloser = newBody(ctx, resp.Body, x)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		plain, err := x.decompress(resp.Header, body)
		if err != nil {
			_ = body.Close()
			return nil, x.fail(err)
		}
		body = plain
	}
	return &Response{
		Body:       body,
		MediaType:  mediaType(resp.Header.Get("Content-Type")),
		StatusCode: resp.StatusCode,
		Header:     resp.Header,
		exchange:   x,
	}, nil
}
