package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errorBodyTimeout bounds the wait for the body of an error, which nobody else may
// be guarding: a watch has no timeout.
const errorBodyTimeout = 10 * time.Second

// Client sends requests to one API server. It may be used by several goroutines at
// once, and shares connections among them.
type Client struct {
	base        string // scheme, host and path prefix, without a trailing slash
	connections *connector
	credentials *credentials
	userAgent   string
	onlyHTTP2   bool
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
		maxFrame:    orDefault(cfg.MaxFrameBytes, defaultMaxFrameBytes),
		maxError:    orDefault(cfg.MaxErrorBytes, defaultMaxErrorBytes),
	}, nil
}

// Close closes the connections that nothing is using. Those of pending requests and
// open streams are closed when these end. The Client stays usable.
func (c *Client) Close() { c.connections.closeIdle() }

// Get sends a request and returns the response, with the body still to be read, for
// any 2xx status. For any other it returns a [RequestError] over an
// *apierrors.StatusError. Redirects are not followed. When ctx ends, so do the
// request and the reading of the body.
func (c *Client) Get(ctx context.Context, req Request) (*Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	resp, err := c.do(ctx, cancel, "get", req)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	return &Response{
		Body:       &body{ReadCloser: resp.Body, cancel: cancel},
		MediaType:  mediaType(resp.Header.Get("Content-Type")),
		StatusCode: resp.StatusCode,
		Header:     resp.Header,
		op:         "get",
		url:        c.base + req.Path,
	}, nil
}

// Watch sends a request and returns the frames of its endless response. The
// parameters that make it a watch are the caller's to put into Query. Any status
// but 200 is an error, and so is a format that is not known here: only JSON is.
// Nothing but ctx, Close and the server ends the stream: it has no timeout.
func (c *Client) Watch(ctx context.Context, req Request) (Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	resp, err := c.do(ctx, cancel, "watch", req)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	mt := mediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || mt != jsonMediaType {
		r := Response{Body: &body{ReadCloser: resp.Body, cancel: cancel}, StatusCode: resp.StatusCode, Header: resp.Header, op: "watch", url: c.base + req.Path}
		defer time.AfterFunc(errorBodyTimeout, func() { cancel(errSlowBody) }).Stop()
		return nil, r.UnexpectedContent()
	}
	return &jsonStream{
		frames:    newFrameReader(resp.Body, c.maxFrame),
		body:      resp.Body,
		mediaType: mt,
		op:        "watch",
		url:       c.base + req.Path,
		ended:     func() error { return context.Cause(ctx) },
		cancel:    cancel,
	}, nil
}

var errSlowBody = errors.New("the body of the error did not arrive in time")

// do sends a request and returns its response if the status is 2xx. It ends ctx, by
// cancel, when the body of an error takes too long.
func (c *Client) do(ctx context.Context, cancel context.CancelCauseFunc, op string, req Request) (*http.Response, error) {
	fail := func(err error) error {
		return &RequestError{Op: op, URL: c.base + req.Path, Err: err}
	}
	hr, err := c.newRequest(ctx, req)
	if err != nil {
		return nil, fail(err)
	}
	resp, err := c.send(hr)
	if err != nil {
		return nil, fail(err)
	}
	if resp.StatusCode == http.StatusUnauthorized && c.credentials.file != "" && req.Header.Get("Authorization") == "" {
		// The token may have been rotated since the file was read. If it was, nobody
		// need know. If it was not, asking again would not help.
		header, err := c.credentials.reread()
		if err != nil {
			return nil, fail(fmt.Errorf("%w (and its replacement cannot be read: %w)", c.refused(cancel, hr, resp), err))
		}
		if header != hr.Header.Get("Authorization") {
			_ = c.refused(cancel, hr, resp) // read to its end, for the connection's sake
			hr = hr.Clone(ctx)
			hr.Header.Set("Authorization", header)
			if resp, err = c.send(hr); err != nil {
				return nil, fail(err)
			}
		}
	}
	if resp.StatusCode/100 != 2 {
		return nil, fail(c.refused(cancel, hr, resp))
	}
	return resp, nil
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

// send is one exchange. It uses the RoundTripper, not an http.Client: that one
// would follow redirects, and a credential must not go to another host.
func (c *Client) send(hr *http.Request) (*http.Response, error) {
	resp, err := c.connections.RoundTrip(hr)
	if err != nil {
		if cause := context.Cause(hr.Context()); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	if c.onlyHTTP2 && resp.ProtoMajor != 2 {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the server answered with %s, and ProtocolHTTP2 asks for HTTP/2", resp.Proto)
	}
	return resp, nil
}

// refused makes the error of a response that is not a success, and closes it.
func (c *Client) refused(cancel context.CancelCauseFunc, hr *http.Request, resp *http.Response) *apierrors.StatusError {
	timer := time.AfterFunc(errorBodyTimeout, func() { cancel(errSlowBody) })
	defer timer.Stop()
	defer resp.Body.Close()
	return statusError(resp, redact(readErrorBody(resp.Body, c.maxError), hr.Header.Get("Authorization")))
}

// body ends the context of its request when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(ErrClosed)
	return err
}

