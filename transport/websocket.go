package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// FallbackError tells that a watch could not be had over a WebSocket, and was then
// opened over HTTP. It is no error of a watch, but given to Config.OnProblem. For the
// next hour all watches of the Client go over HTTP; then a handshake is tried again.
type FallbackError struct {
	URL string // without the query
	Err error  // how the handshake was answered
}

// Error says what happens instead.
func (e *FallbackError) Error() string {
	return fmt.Sprintf("watch %s over WebSocket: %v; watches go over HTTP for the next %v", e.URL, e.Err, fallbackMemory)
}

// Unwrap returns how the handshake was answered.
func (e *FallbackError) Unwrap() error { return e.Err }

// fallbackMemory is how long a Client keeps to HTTP. What refuses WebSockets is a
// proxy, and does so until somebody configures it; or it was a server that was not
// ready, and then HTTP must not be for good where it is held back.
const fallbackMemory = time.Hour

// overWebSocket is [WatchWebSocket].
type overWebSocket struct{}

func (overWebSocket) String() string { return "WebSocket" }

func (overWebSocket) watcher(c *Client, cfg Config) (watcher, error) { return newSockets(c, cfg) }

// sockets opens watches over WebSocket.
type sockets struct {
	client          *Client
	connections     *connector // of HTTP/1.1
	origin          string
	tokenInProtocol bool
	idle            time.Duration // without a byte, until a ping; 0 is off
	answer          time.Duration // to it
	declined        atomic.Int64  // Unix nanoseconds when HTTP was fallen back to; 0: never
}

func newSockets(c *Client, cfg Config) (*sockets, error) {
	connections, err := c.connections.onlyHTTP1()
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(connections.server.base)
	if err != nil {
		return nil, err // unreachable: it is made of a URL
	}
	s := &sockets{
		client:      c,
		connections: connections,
		// Without an Origin kube-apiserver refuses the handshake. It does not look at
		// the value; others compare it with the host that they are called by.
		origin:          server.Scheme + "://" + server.Host,
		tokenInProtocol: cfg.TokenInSubprotocol,
		idle:            orDefault(cfg.ReadIdleTimeout, defaultReadIdleTimeout),
		answer:          orDefault(cfg.PingTimeout, defaultPingTimeout),
	}
	if s.answer == 0 {
		s.idle = 0 // a ping that may stay unanswered for ever tells nothing
	}
	return s, nil
}

// onlyHTTP1 returns a connector that differs in nothing but that its connections are
// of HTTP/1.1, and offer nothing else in ALPN: no other can be upgraded.
func (c *connector) onlyHTTP1() (*connector, error) {
	h1 := &connector{cfg: c.cfg, server: c.server, proxy: c.proxy, dial: c.dial, secure: c.secure, files: c.files, plugin: c.plugin}
	if h1.cfg.RoundTripper == nil {
		h1.cfg.Protocol = ProtocolHTTP1
	}
	var err error
	h1.current, err = h1.generation(h1.identity())
	return h1, err
}

func (s *sockets) close() { s.connections.close() }

// wanted reports whether the next watch is to be asked for over WebSocket.
func (s *sockets) wanted() bool {
	at := s.declined.Load()
	return at == 0 || time.Since(time.Unix(0, at)) >= fallbackMemory
}

// watch opens a watch over WebSocket, or over HTTP where it cannot be had. HTTP is
// remembered only if it is better: a server that is down refuses both.
func (s *sockets) watch(ctx context.Context, req Request) (Stream, error) {
	if !s.wanted() {
		return s.client.watchHTTP(ctx, req)
	}
	stream, err := s.dial(ctx, req)
	var fallback *FallbackError
	if err == nil || !errors.As(err, &fallback) {
		return stream, err
	}
	stream, err = s.client.watchHTTP(ctx, req)
	if err == nil {
		s.declined.Store(time.Now().UnixNano())
		s.client.problems.report("websocket", fallback)
	}
	return stream, err
}

// isFallback reports whether a handshake was answered as by somebody who does not know
// WebSockets, rather than by the API server: a proxy that drops the Upgrade header
// answers 200 with a watch, or with a page of its own; one that forbids it, or the
// WebSocket library of the API server itself, 403 without a word; one that cannot
// pass it on, 503. If the API server itself says 503, it says so in a Status: it is not
// ready, for watches over HTTP neither. Every other refusal has nothing to do with how
// the watch travels.
func isFallback(x *exchange, err error) bool {
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.ErrStatus.Code {
	case http.StatusForbidden:
		return x.emptyBody
	case http.StatusServiceUnavailable:
		return !x.isStatus
	}
	return false
}
