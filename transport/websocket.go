package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// fallbackError says that a watch could not be opened over a WebSocket, and was opened
// over HTTP instead. No watch fails with it: Config.OnProblem is told. For the next
// hour all watches of the Client go over HTTP. Then a handshake is tried again.
type fallbackError struct {
	URL string // without the query
	Err error  // how the handshake was answered
}

// Error says what happens instead.
func (e *fallbackError) Error() string {
	return fmt.Sprintf("watch %s over WebSocket: %v; watches go over HTTP for the next %v", e.URL, e.Err, fallbackMemory)
}

// Unwrap returns how the handshake was answered.
func (e *fallbackError) Unwrap() error { return e.Err }

// fallbackMemory is how long a Client stays with HTTP. A proxy that has refused the
// WebSocket will do so until somebody configures it. But if it was a server that was
// not ready, HTTP must not be for good: a proxy may hold back what comes over it.
const fallbackMemory = time.Hour

// overWebSocket is [WatchWebSocket].
type overWebSocket struct{}

func (overWebSocket) String() string { return "WebSocket" }

func (overWebSocket) watcher(c *Client, cfg Config) watcher { return newSockets(c, cfg) }

// sockets opens watches over WebSocket.
type sockets struct {
	client     *Client
	kind       kind    // its connections are of HTTP/1.1
	http       *bodies // the fallback
	origin     string
	idleLimits idleLimits
	declined   atomic.Pointer[time.Time] // of the last fallback; nil: never
}

func newSockets(c *Client, cfg Config) *sockets {
	server := c.server.url
	return &sockets{
		client: c,
		kind:   kind{op: "watch", via: c.connections.onlyHTTP1(), upgrade: true}, // no other connection can be upgraded
		http:   newBodies(c, cfg),
		// kube-apiserver refuses a handshake without an Origin. It does not look at the
		// value; other servers compare it with the host under which they are called.
		origin:     server.Scheme + "://" + server.Host,
		idleLimits: idleLimitsOf(cfg),
	}
}

func (s *sockets) close() { s.kind.via.close() }

// wanted reports whether the next watch is to be asked for over WebSocket.
func (s *sockets) wanted() bool {
	at := s.declined.Load()
	return at == nil || time.Since(*at) >= fallbackMemory
}

// watch opens a watch over WebSocket, or over HTTP if that is not possible. It stays
// with HTTP only if HTTP works: a server that is down refuses both.
func (s *sockets) watch(ctx context.Context, req Request) (Stream, error) {
	if !s.wanted() {
		return s.http.watch(ctx, req)
	}
	stream, err := s.dial(ctx, req)
	var fallback *fallbackError
	if err == nil || !errors.As(err, &fallback) {
		return stream, err
	}
	stream, err = s.http.watch(ctx, req)
	if err == nil {
		now := time.Now() // it has the monotonic clock, too, so a change of the time of day does not matter
		s.declined.Store(&now)
		s.client.problems.report("websocket", fallback)
	}
	return stream, err
}

// isFallback reports whether a handshake was refused by somebody who does not know
// WebSockets, rather than by the API server. A proxy that forbids WebSockets answers
// 403 with an empty body, and so does the WebSocket library of the API server. A proxy
// that cannot pass the handshake on answers 503. The API server itself says 503 in a
// Status; then it is not ready for watches over HTTP either. Every other refusal has
// nothing to do with how the watch travels.
func isFallback(x *exchange, err error) bool {
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.ErrStatus.Code {
	case http.StatusForbidden:
		return x.last.emptyBody
	case http.StatusServiceUnavailable:
		return !x.last.isStatus
	}
	return false
}

// dial opens a watch over WebSocket. gorilla/websocket makes the handshake, but the
// request goes the way of every other one, so that proxies, TLS, credentials, another
// attempt after a 401, and refusals are the same. A [fallbackError] says that HTTP may
// do better.
func (s *sockets) dial(ctx context.Context, req Request) (Stream, error) {
	ctx, x := s.client.begin(ctx, s.kind, req)
	conn := &socketConn{liveness: newLiveness(s.idleLimits, func() { x.cancel(errNoPong) })}
	conn.shakeHands = func(header http.Header) (*Response, error) {
		return s.upgrade(ctx, x, header)
	}
	dialer := websocket.Dialer{NetDialContext: conn.dial, ReadBufferSize: socketBuffer}
	// The address does not matter, and TLS is below.
	ws, _, err := dialer.Dial("ws://apiserver", nil) //nolint:bodyclose // that is the connection
	if err == nil {
		return newSocketStream(ws, conn, s.client.maxFrame, req.Frames), nil
	}
	if conn.err != nil {
		return nil, conn.err // of the request
	}
	return nil, x.abandon(malformed{fmt.Errorf("the answer to the WebSocket handshake is not that of a WebSocket: %w", err)})
}

// upgrade sends the request of a handshake. Its header has what makes it one.
func (s *sockets) upgrade(ctx context.Context, x *exchange, header http.Header) (*Response, error) {
	sent := make(http.Header)
	maps.Copy(sent, x.request.Header)
	maps.Copy(sent, header)
	if sent.Get("Origin") == "" {
		sent.Set("Origin", s.origin)
	}
	x.request.Header = sent
	resp, err := x.do(ctx)
	switch {
	case err != nil && isFallback(x, err):
		return nil, &fallbackError{URL: x.url, Err: errors.Unwrap(err)}
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusSwitchingProtocols:
		_ = resp.Body.Close() // a proxy that drops the Upgrade header lets a watch through, which may be idle for minutes
		contentType := x.redactWhole([]byte(resp.Header.Get("Content-Type")))
		return nil, &fallbackError{URL: x.url, Err: fmt.Errorf("the handshake was answered with %d and %q", resp.StatusCode, contentType)}
	}
	if err := checkNegotiated(resp.Header); err != nil {
		_ = resp.Body.Close() // what counts is why
		return nil, x.fail(malformed{err})
	}
	return resp, nil
}

// checkNegotiated refuses what was not offered (RFC 6455, section 4.1): an extension, such as
// compression, or a sub-protocol.
func checkNegotiated(got http.Header) error {
	if extensions := got.Get("Sec-Websocket-Extensions"); extensions != "" {
		return fmt.Errorf("the answer to the WebSocket handshake has the extensions %q, and none was offered", extensions)
	}
	if protocol := got.Get("Sec-Websocket-Protocol"); protocol != "" {
		return fmt.Errorf("the answer to the WebSocket handshake has the sub-protocol %q, which was not offered", protocol)
	}
	return nil
}

// accept returns the head of an answer, for gorilla/websocket to read.
func accept(resp *Response) io.Reader {
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", resp.StatusCode, http.StatusText(resp.StatusCode))
	_ = resp.Header.Write(&head) // a Buffer takes everything
	head.WriteString("\r\n")
	return &head
}

// closeError is the end of a watch over WebSocket without code 1000, which is the end
// cleanly (RFC 6455, section 7.4.1). It is an io.ErrUnexpectedEOF, because with
// every other code there is more to come: a server or a proxy goes away (1001),
// restarts (1012) or has failed (1011).
type closeError struct{ text string }

func (e *closeError) Error() string { return "the WebSocket was closed with " + e.text }
func (e *closeError) Unwrap() error { return io.ErrUnexpectedEOF }

// closedWith returns the error of a close: its code, what that means, and the text of the server.
func (s *secrets) closedWith(c websocket.CloseError) error {
	text := ""
	if c.Text != "" {
		text = fmt.Sprintf(": %q", s.redactWhole([]byte(c.Text)))
	}
	c.Text = ""
	return &closeError{strings.TrimPrefix(c.Error(), "websocket: close ") + text}
}
