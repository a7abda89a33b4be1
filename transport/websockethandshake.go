package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/websocket"
)

// dial opens a watch over WebSocket. The handshake is gorilla/websocket's, but
// the request goes the way of every other one, so that proxies, TLS, credentials,
// what happens at a 401 and what refusals look like are the same. A [FallbackError]
// says that HTTP may do better.
func (s *sockets) dial(ctx context.Context, req Request) (Stream, error) {
	x := &exchange{op: "watch", via: s.connections, upgrade: true}
	if s.tokenInProtocol {
		x.rewrite = withTokenInProtocol
	}
	conn := &socketConn{liveness: newLiveness(s.idle, s.answer, func() { x.cancel(errNoPong) })}
	conn.shakeHands = func(header http.Header) (*Response, error) {
		return s.upgrade(ctx, x, req, header)
	}
	dialer := websocket.Dialer{NetDialContext: conn.dial, ReadBufferSize: minBuffer}
	// The address does not matter, and TLS is below.
	ws, _, err := dialer.Dial("ws://apiserver", nil) //nolint:bodyclose // that is the connection
	if err == nil {
		return newSocketStream(ws, conn, s.client.maxFrame, req.Accept), nil
	}
	if conn.err != nil {
		return nil, conn.err // of the request
	}
	return nil, x.fail(fmt.Errorf("the answer to the WebSocket handshake is none: %w", err))
}

// upgrade sends the request of a handshake. Its header has what makes it one.
func (s *sockets) upgrade(ctx context.Context, x *exchange, req Request, header http.Header) (*Response, error) {
	if req.Header == nil {
		req.Header = make(http.Header)
	} else {
		req.Header = req.Header.Clone()
	}
	for name, values := range header { // in any order: each by itself
		req.Header[name] = values
	}
	if req.Header.Get("Origin") == "" {
		req.Header.Set("Origin", s.origin)
	}
	resp, err := s.client.do(ctx, x, req, func() {})
	switch {
	case err != nil && isFallback(x, err):
		return nil, &FallbackError{URL: x.url, Err: errors.Unwrap(err)}
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusSwitchingProtocols:
		_ = resp.Body.Close() // it may be a watch that has nothing to say for minutes
		contentType := x.redactWhole([]byte(resp.Header.Get("Content-Type")))
		return nil, &FallbackError{URL: x.url, Err: fmt.Errorf("the handshake was answered with %d and %q", resp.StatusCode, contentType)}
	}
	if err := checkNegotiated(resp.Header, req.Header); err != nil {
		_ = resp.Body.Close() // what counts is why
		return nil, x.fail(err)
	}
	return resp, nil
}

// checkNegotiated refuses what was not offered (RFC 6455, section 4.1): no extension
// is, compression neither, and no sub-protocol but with a token.
func checkNegotiated(got, sent http.Header) error {
	if extensions := got.Get("Sec-Websocket-Extensions"); extensions != "" {
		return fmt.Errorf("the answer to the WebSocket handshake has the extensions %q, and none was offered", extensions)
	}
	protocol := got.Get("Sec-Websocket-Protocol")
	offered := append(sent.Values("Sec-Websocket-Protocol"), "", companionProtocol)
	if !slices.Contains(offered, protocol) {
		return fmt.Errorf("the answer to the WebSocket handshake has the sub-protocol %q, which was not offered", protocol)
	}
	return nil
}

// accept gives gorilla/websocket the head of an answer, as it came.
func accept(resp *Response) io.Reader {
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", resp.StatusCode, http.StatusText(resp.StatusCode))
	_ = resp.Header.Write(&head) // a Buffer takes everything
	head.WriteString("\r\n")
	return &head
}

// parseRequest reads the request that gorilla/websocket has written.
func parseRequest(written []byte) (*http.Request, error) {
	return http.ReadRequest(bufio.NewReader(bytes.NewReader(written)))
}

const (
	// tokenProtocol is the beginning of a sub-protocol that is a bearer token:
	// https://github.com/kubernetes/kubernetes/pull/47740.
	tokenProtocol = "base64url.bearer.authorization.k8s.io."

	// companionProtocol is offered beside it, since the server takes the token away
	// and needs another one to answer with. A watch is not negotiated: whatever it
	// is, it comes back and means nothing. Two of them would be refused.
	companionProtocol = "base64.binary.k8s.io"
)

// withTokenInProtocol returns a request that has its bearer token as a sub-protocol.
func withTokenInProtocol(req *http.Request) *http.Request {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return req
	}
	req = req.WithContext(req.Context())
	req.Header = req.Header.Clone()
	req.Header.Del("Authorization")
	req.Header.Set("Sec-Websocket-Protocol", tokenProtocol+base64.RawURLEncoding.EncodeToString([]byte(token))+", "+companionProtocol)
	return req
}
