package transport

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/relist-go/relist/internal/option"
)

// Client sends requests to one API server. It may be used by several goroutines at
// once, and shares connections among them.
type Client struct {
	server       endpoint
	connections  *connector
	credentials  authorizer
	asUser       http.Header // of an impersonation; nil for none
	userAgent    string
	proxySecrets [][]byte
	secretive    bool // a credential may be sent
	onlyHTTP2    bool
	maxFrame     int
	maxError     int
	problems     *problems

	gets    kind
	atOnce  limit // of gets
	watches watcher
}

// Server returns the URL of the API server, without credentials.
func (c *Client) Server() string { return c.server.name }

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
	secretive, err := checkCleartext(cfg, connections)
	if err != nil {
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
	cfg.UserAgent = cmp.Or(cfg.UserAgent, defaultUserAgent())
	cfg.WatchTransport = cmp.Or(cfg.WatchTransport, WatchHTTP)
	c := &Client{
		server:       server,
		connections:  connections,
		credentials:  creds,
		asUser:       asUser,
		userAgent:    cfg.UserAgent,
		proxySecrets: proxySecrets(connections.proxy),
		secretive:    secretive,
		onlyHTTP2:    cfg.Protocol == ProtocolHTTP2,
		maxFrame:     option.Or(cfg.MaxFrameBytes, defaultMaxFrameBytes),
		maxError:     maxErrorBytes,
		problems:     problems,
		gets:         kind{op: "get", via: connections, gzip: wantsGzip(cfg, server)},
		atOnce:       newLimit(cfg.MaxConcurrentGets),
	}
	c.watches = cfg.WatchTransport.watcher(c, cfg)
	return c, nil
}

// Close closes the connections that nothing uses. While requests are pending, or bodies
// and streams are open, the other connections stay open; they are closed with the last
// of these. The Client stays usable, and then needs another Close.
func (c *Client) Close() {
	c.connections.close()
	c.watches.close()
}

// Authenticate makes sure that there is a credential: it runs the program of [Config.Exec] if a
// request would. It sends nothing. A program may wait for a person, who logs in, so whoever gives
// the first request a timeout calls Authenticate before.
func (c *Client) Authenticate(ctx context.Context) error {
	_, err := c.credentials.get(ctx)
	return err
}

// Get sends a request and returns the response, with the body still to be read, for any
// 2xx status. For any other status it returns a [RequestError] over an
// *apierrors.StatusError. It follows no redirects. When ctx ends, so do the request and
// the reading of the body.
func (c *Client) Get(ctx context.Context, req Request) (*Response, error) {
	ctx, x := c.begin(ctx, c.gets, req)
	release, err := c.atOnce.acquire(ctx)
	if err != nil {
		return nil, x.abandon(err)
	}
	x.hold(release)
	return x.do(ctx)
}

// Do is Get with another method, such as PATCH, and with a body. If body is nil, none is
// sent. The Content-Type in Request.Header says what the body is.
//
// MaxConcurrentGets does not hold it back. The request is sent a second time only if the first one
// did nothing: after a 401, if a credential has been rotated since, or if no connection could be
// made and a certificate has been rotated since. If the request gets no answer, the server may have
// done what it was asked to do. Over HTTP/1.1 only ctx ends the wait for a server that has vanished
// without a word: give it a deadline.
func (c *Client) Do(ctx context.Context, method string, req Request, body []byte) (*Response, error) {
	op := cmp.Or(strings.ToLower(method), "get")
	ctx, x := c.begin(ctx, kind{op: op, via: c.connections, gzip: c.gets.gzip}, req)
	x.method, x.content = method, body
	return x.do(ctx)
}

// Watch sends a request and returns the frames of its endless response. The caller puts
// the parameters that make it a watch into Query. A status other than 200 is an error,
// and so is a format that is not in Request.Frames. The stream has no timeout: only ctx,
// Close and the server end it.
func (c *Client) Watch(ctx context.Context, req Request) (Stream, error) {
	if len(req.Frames) == 0 {
		_, x := c.begin(ctx, kind{op: "watch"}, req)
		return nil, x.abandon(errNoFormat)
	}
	return c.watches.watch(ctx, req)
}

// limit bounds how many of something there are at once. If nil, there is no bound.
type limit chan struct{}

func newLimit(n int) limit {
	if n <= 0 {
		return nil
	}
	return make(limit, n)
}

// acquire waits for a place, and returns how to give it back.
func (l limit) acquire(ctx context.Context) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
