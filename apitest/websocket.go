package apitest

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/websocket"
)

// isWebSocket reports whether a request asks for a WebSocket. It uses the same rule as kube-apiserver.
func isWebSocket(req *http.Request) bool {
	return strings.EqualFold(req.Header.Get("Upgrade"), "websocket") &&
		strings.Contains(strings.ToLower(req.Header.Get("Connection")), "upgrade")
}

const (
	protocolHeader = "Sec-Websocket-Protocol"
	tokenProtocol  = "base64url.bearer.authorization.k8s.io."
)

// takeTokenProtocol returns the bearer token that a handshake has as a sub-protocol, and removes it from the header. It
// returns false unless there is exactly one token, and another sub-protocol for the answer.
func takeTokenProtocol(req *http.Request) (token string, ok bool) {
	if !isWebSocket(req) {
		return "", false
	}
	var others []string
	tokens := 0
	for value := range strings.SplitSeq(strings.Join(req.Header.Values(protocolHeader), ","), ",") {
		value = strings.TrimSpace(value)
		encoded, isToken := strings.CutPrefix(value, tokenProtocol)
		if !isToken {
			others = append(others, value)
			continue
		}
		plain, err := base64.RawURLEncoding.DecodeString(encoded)
		if err != nil || !utf8.Valid(plain) {
			return "", false
		}
		token = string(plain)
		tokens++
	}
	if tokens != 1 || token == "" || len(others) == 0 {
		return "", false
	}
	req.Header.Set(protocolHeader, strings.Join(others, ","))
	return token, true
}

// upgrade answers the handshake of a WebSocket, and calls serve to send messages to out. It ends when serve returns or the client
// is gone.
//
// The handshake is that of golang.org/x/net/websocket, because kube-apiserver uses it. The client uses gorilla/websocket; a server
// with the same library would share its mistakes. If the Origin is not an absolute URL, the answer is 403 without a body. If there
// are two sub-protocols, the answer is 400. If there is one, the answer repeats it. The server accepts no extension. It always
// ends with a close frame with code 1000.
func (f *faults) upgrade(w http.ResponseWriter, req *http.Request, out *messages, serve func(context.Context, output)) {
	conn := &hijacked{ResponseWriter: w, faults: f, spared: spared(req), gone: make(chan struct{})}
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	websocket.Handler(func(ws *websocket.Conn) {
		var reader sync.WaitGroup
		reader.Go(func() {
			defer close(conn.gone)
			defer cancel()
			// The client sends no messages. Receive answers its pings.
			var message []byte
			for err := error(nil); err == nil; err = websocket.Message.Receive(ws, &message) {
				message = nil
			}
		})
		defer reader.Wait()
		defer func() { _ = ws.Close() }() // an error does not matter: the client may be gone
		out.ws, out.conn = ws, conn
		serve(ctx, out)
	}).ServeHTTP(conn, req)
}

// hijacked is a ResponseWriter whose connection the WebSocket library takes over. It keeps the connection. While watches
// are stalled, it writes nothing to the connection, not even pongs.
type hijacked struct {
	http.ResponseWriter
	net.Conn
	faults *faults
	spared bool
	gone   chan struct{} // closed when the client is gone
}

// Hijack implements [http.Hijacker].
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.Conn = conn
	if l, ok := h.ResponseWriter.(*logged); ok {
		l.upgraded()
	}
	return h, bufio.NewReadWriter(buf.Reader, bufio.NewWriter(h)), nil
}

// Write writes to the connection, not to the ResponseWriter. While watches are stalled, it waits.
func (h *hijacked) Write(p []byte) (int, error) {
	for resumed := h.faults.stalledUntil(); resumed != nil && !h.spared; resumed = h.faults.stalledUntil() {
		select {
		case <-resumed:
		case <-h.gone:
			return 0, net.ErrClosed
		case <-h.faults.done:
			return 0, net.ErrClosed
		}
	}
	return h.Conn.Write(p)
}

// errCut ends the handler of a WebSocket after a cut.
var errCut = errors.New("the connection was cut")
