package load

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
)

// maxStreams is how many requests share one HTTP/2 connection of kube-apiserver
// (--http2-max-streams-per-connection). Source:
// https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
const maxStreams = 250

// Listen starts to serve on a free port of loopback: HTTP/1.1 in the clear, or HTTP/2 over TLS with
// a certificate that nobody knows.
func (s *Server) Listen(http2 bool) *httptest.Server {
	server := httptest.NewUnstartedServer(s)
	server.Listener = countingListener{server.Listener, &s.sent}
	if !http2 {
		server.Start()
		return server
	}
	server.EnableHTTP2 = true
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams}
	server.StartTLS()
	return server
}

// countingListener counts what is sent over its connections.
type countingListener struct {
	net.Listener
	sent *atomic.Uint64
}

// Accept implements net.Listener.
func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countingConn{conn, l.sent}, err
}

type countingConn struct {
	net.Conn
	sent *atomic.Uint64
}

// Write implements net.Conn.
func (c countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.Add(uint64(n))
	return n, err
}
