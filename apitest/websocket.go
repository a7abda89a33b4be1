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

// isWebSocket reports whether a request asks for a watch as the messages of a WebSocket, as kube-apiserver finds it out.
func isWebSocket(req *http.Request) bool {
	return strings.EqualFold(req.Header.Get("Upgrade"), "websocket") &&
		strings.Contains(strings.ToLower(req.Header.Get("Connection")), "upgrade")
}

const (
	protocolHeader = "Sec-Websocket-Protocol"
	tokenProtocol  = "base64url.bearer.authorization.k8s.io."
)

// takeTokenProtocol returns the bearer token that a handshake carries as a sub-protocol, and takes it out of the header.
// There must be one, and another sub-protocol to answer with.
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

// upgrade answers a handshake and lets serve send its messages to out, until it returns or the client goes. The handshake is that
// of golang.org/x/net/websocket, which kube-apiserver uses; gorilla/websocket is the client's, and would share its mistakes. An Origin
// that is no absolute URL is refused with 403 and not a word, two sub-protocols with 400. One sub-protocol comes back whatever it
// is, and no extension is accepted. The end is a close frame with code 1000, whatever the reason.
func (f *faults) upgrade(w http.ResponseWriter, req *http.Request, out *messages, serve func(context.Context, output)) {
	conn := &hijacked{ResponseWriter: w, faults: f, spared: spared(req), gone: make(chan struct{})}
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	websocket.Handler(func(ws *websocket.Conn) {
		var reader sync.WaitGroup
		reader.Go(func() {
			defer close(conn.gone)
			defer cancel()
			// The client has nothing to say. Its pings are answered here.
			var message []byte
			for err := error(nil); err == nil; err = websocket.Message.Receive(ws, &message) {
				message = nil
			}
		})
		defer reader.Wait()
		defer func() { _ = ws.Close() }() // to a client that may be gone
		out.ws, out.conn = ws, conn
		serve(ctx, out)
	}).ServeHTTP(conn, req)
}

// hijacked is a ResponseWriter that lends its connection, and remembers it. While watches are stalled nothing is written
// to it, pongs neither.
type hijacked struct {
	http.ResponseWriter
	net.Conn
	faults *faults
	spared bool
	gone   chan struct{} // closed when the client is
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

// Write is the connection's, not the ResponseWriter's.
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

// errCut ends the handler of a WebSocket that was broken off.
var errCut = errors.New("the connection was cut")
