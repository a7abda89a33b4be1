package transport

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Client sends requests to one API server. It may be used by several goroutines at
// once, and shares connections among them.
type Client struct {
	base        string // scheme, host and path prefix, without a trailing slash
	connections *connector
	credentials *credentials
	userAgent   string
	onlyHTTP2   bool
	gets        limit
	maxFrame    int
	maxError    int
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
	connections, err := newConnector(cfg, server)
	if err != nil {
		return nil, err
	}
	creds, err := newCredentials(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = defaultUserAgent()
	}
	return &Client{
		base:        server.String(),
		connections: connections,
		credentials: creds,
		userAgent:   cfg.UserAgent,
		onlyHTTP2:   cfg.Protocol == ProtocolHTTP2,
		gets:        newLimit(cfg.MaxConcurrentGets),
		maxFrame:    orDefault(cfg.MaxFrameBytes, defaultMaxFrameBytes),
		maxError:    orDefault(cfg.MaxErrorBytes, defaultMaxErrorBytes),
	}, nil
}

// Close closes the connections that nothing is using. If requests are pending or
// bodies and streams open, the rest are closed when the last of these is. The Client
// stays usable, and needs another Close then.
func (c *Client) Close() {
	c.connections.closeIdle()
	c.connections.conns.close()
}

// Get sends a request and returns the response, with the body still to be read, for
// any 2xx status. For any other it returns a [RequestError] over an
// *apierrors.StatusError. Redirects are not followed. When ctx ends, so do the
// request and the reading of the body.
func (c *Client) Get(ctx context.Context, req Request) (*Response, error) {
	release, err := c.gets.acquire(ctx)
	if err != nil {
		return nil, (&exchange{op: "get", url: c.base + req.Path}).fail(err)
	}
	return c.do(ctx, "get", req, release)
}

// Watch sends a request and returns the frames of its endless response. The
// parameters that make it a watch are the caller's to put into Query. Any status
// but 200 is an error, and so is a format that is not known here: only JSON is.
// Nothing but ctx, Close and the server ends the stream: it has no timeout.
func (c *Client) Watch(ctx context.Context, req Request) (Stream, error) {
	resp, err := c.do(ctx, "watch", req, func() {})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || resp.MediaType != jsonMediaType {
		return nil, resp.UnexpectedContent()
	}
	return newJSONStream(resp, c.maxFrame), nil
}

// do sends a request and returns its response if the status is 2xx. It calls release
// once the exchange is over.
func (c *Client) do(ctx context.Context, op string, req Request, release func()) (*Response, error) {
	x := &exchange{op: op, url: c.base + req.Path, onRead: readHook(ctx)}
	end := c.connections.conns.begin()
	x.done = func() {
		end()
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
	return &Response{
		Body:       newBody(ctx, resp.Body, x),
		MediaType:  mediaType(resp.Header.Get("Content-Type")),
		StatusCode: resp.StatusCode,
		Header:     resp.Header,
		exchange:   x,
	}, nil
}

// try sends a request, and once more if it was refused for a token that has been
// rotated meanwhile.
func (c *Client) try(ctx context.Context, x *exchange, req Request) (*http.Response, error) {
	hr, err := c.newRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(x, hr)
	if err != nil || resp.StatusCode/100 == 2 {
		return resp, err
	}
	refused := c.refused(x, resp)
	if resp.StatusCode != http.StatusUnauthorized || c.credentials.file == "" || req.Header.Get("Authorization") != "" {
		return nil, refused
	}
	header, err := c.credentials.reread()
	if err != nil {
		return nil, fmt.Errorf("%w (and a new token cannot be read: %w)", refused, err)
	}
	if header == hr.Header.Get("Authorization") {
		return nil, refused // it is this token that is refused, and asking again would not help
	}
	hr = hr.Clone(ctx)
	hr.Header.Set("Authorization", header)
	if resp, err = c.send(x, hr); err != nil || resp.StatusCode/100 == 2 {
		return resp, err
	}
	return nil, c.refused(x, resp)
}

func (c *Client) newRequest(ctx context.Context, req Request) (*http.Request, error) {
	if err := checkPath(req.Path); err != nil {
		return nil, err
	}
	target := c.base + req.Path
	if len(req.Query) > 0 {
		target += "?" + req.Query.Encode()
	}
	hr, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	if req.Header != nil {
		hr.Header = req.Header.Clone()
	}
	hr.Header.Set("User-Agent", c.userAgent)
	hr.Header.Set("Accept", jsonMediaType)
	if req.Accept != "" {
		hr.Header.Set("Accept", req.Accept)
	}
	if hr.Header.Get("Authorization") == "" {
		if auth := c.credentials.header(); auth != "" {
			hr.Header.Set("Authorization", auth)
		}
	}
	return hr, nil
}

// send uses the RoundTripper, not an http.Client: that one would follow redirects,
// and a credential must not go to another host.
func (c *Client) send(x *exchange, hr *http.Request) (*http.Response, error) {
	x.authorization = hr.Header.Get("Authorization")
	resp, err := c.connections.RoundTrip(hr)
	if ended := x.ended(); ended != nil {
		// A server that sees the client go may still answer, before the connection is
		// down. It answers a request that nobody waits for.
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, ended
	}
	if err != nil {
		return nil, err
	}
	if c.onlyHTTP2 && resp.ProtoMajor != 2 {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the server answered with %s, and ProtocolHTTP2 asks for HTTP/2", resp.Proto)
	}
	return resp, nil
}

// refused makes the error of a response that is not a success, and closes it.
func (c *Client) refused(x *exchange, resp *http.Response) *apierrors.StatusError {
	defer x.hurry().Stop()
	defer resp.Body.Close()
	status := statusError(resp, x.redact(readErrorBody(resp.Body, c.maxError)))
	status.ErrStatus.Message = string(x.redactWhole([]byte(status.ErrStatus.Message))) // it may quote headers
	return status
}
