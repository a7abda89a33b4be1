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

// isWebSocket reports whether a request asks for a WebSocket. It uses the same rule as
// kube-apiserver.
func isWebSocket(req *http.Request) bool {
	return strings.EqualFold(req.Header.Get("Upgrade"), "websocket") &&
		strings.Contains(strings.ToLower(req.Header.Get("Connection")), "upgrade")
}

const (
	protocolHeader = "Sec-Websocket-Protocol"
	tokenProtocol  = "base64url.bearer.authorization.k8s.io."
)

// takeTokenProtocol returns the bearer token that a handshake has as a sub-protocol, and removes it
// from the header. It returns false unless there is exactly one token, and another sub-protocol for
// the answer.
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

// upgrade answers the handshake of a WebSocket, and calls serve to send messages to out. It ends
// when serve returns or the client is gone.
//
// The handshake is that of golang.org/x/net/websocket, because kube-apiserver uses it. The client
// uses gorilla/websocket; a server with the same library would share its mistakes. If the Origin is
// not an absolute URL, the answer is 403 without a body. If there are two sub-protocols, the answer
// is 400. If there is one, the answer repeats it. The server accepts no extension. It always ends
// with a close frame with code 1000.
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

// hijacked is a ResponseWriter whose connection the WebSocket library takes over. It keeps the
// connection. While watches are stalled, it writes nothing to the connection, not even pongs.
//
// The library writes events, pongs and the close frame under a lock. So Write only queues, and
// drain waits for the network without that lock: whoever waits for a lock keeps the clock of a
// synctest bubble from going on.
type hijacked struct {
	http.ResponseWriter
	net.Conn
	faults *faults
	spared bool
	gone   chan struct{} // closed when the client is gone

	mu      sync.Mutex
	queue   []byte
	written chan struct{} // closed when flush has ended; nil if it does not run
	err     error         // of the connection
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

// Write queues bytes for the connection, not for the ResponseWriter.
func (h *hijacked) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return 0, h.err
	}
	h.queue = append(h.queue, p...)
	if h.written == nil {
		h.written = make(chan struct{})
		go h.flush()
	}
	return len(p), nil
}

// flush writes the queue to the connection, until it is empty. While watches are stalled, it waits.
func (h *hijacked) flush() {
	for {
		h.mu.Lock()
		b := h.queue
		h.queue = nil
		if len(b) == 0 || h.err != nil {
			close(h.written)
			h.written = nil
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		err := h.awaitResume()
		if err == nil {
			_, err = h.Conn.Write(b)
		}
		h.mu.Lock()
		h.err = err
		h.mu.Unlock()
	}
}

func (h *hijacked) awaitResume() error {
	for resumed := h.faults.stalledUntil(); resumed != nil && !h.spared; resumed = h.faults.stalledUntil() {
		select {
		case <-resumed:
		case <-h.gone:
			return net.ErrClosed
		case <-h.faults.done:
			return net.ErrClosed
		}
	}
	return nil
}

// drain waits until the queue is written.
func (h *hijacked) drain() error {
	h.mu.Lock()
	written := h.written
	h.mu.Unlock()
	if written != nil {
		<-written
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Close closes the connection when the close frame is written.
func (h *hijacked) Close() error {
	_ = h.drain() // an error is one of a connection that has ended
	return h.Conn.Close()
}

// errCut ends the handler of a WebSocket after a cut.
var errCut = errors.New("the connection was cut")
