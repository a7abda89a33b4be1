package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// newTestClient makes a client that is closed with the test.
func newTestClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := NewClient(cfg)
	must.OK(t, err)
	t.Cleanup(c.Close)
	return c
}

// wire is a way to speak to a server.
type wire struct {
	name     string
	protocol Protocol
	tls      bool
	serverH2 bool
	want     int // major version of HTTP
}

var wires = []wire{
	{"plain, auto", ProtocolAuto, false, false, 1},
	{"plain, HTTP/1.1", ProtocolHTTP1, false, true, 1},
	{"plain, HTTP/2", ProtocolHTTP2, false, true, 2},
	{"TLS, auto", ProtocolAuto, true, true, 2},
	{"TLS, auto, old server", ProtocolAuto, true, false, 1},
	{"TLS, HTTP/1.1", ProtocolHTTP1, true, true, 1},
	{"TLS, HTTP/2", ProtocolHTTP2, true, true, 2},
}

// serve starts a server that speaks as w says, and returns a Config for it.
func (w wire) serve(t testing.TB, handler http.HandlerFunc) Config {
	t.Helper()
	srv := httptest.NewUnstartedServer(handler)
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	if w.serverH2 {
		srv.Config.Protocols.SetHTTP2(true)
		srv.Config.Protocols.SetUnencryptedHTTP2(true)
		srv.EnableHTTP2 = true
	}
	cfg := Config{Protocol: w.protocol}
	if w.tls {
		srv.StartTLS()
		cfg.TLS.CAData = pemOf(srv.Certificate().Raw)
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	cfg.Server = srv.URL
	return cfg
}

// serve starts an HTTP/1.1 server on loopback, and returns a Config for it.
func serve(t testing.TB, handler http.HandlerFunc) Config {
	return wires[0].serve(t, handler)
}

// serveOn serves HTTP/1.1 and HTTP/2 on a network until stop is called, over TLS if
// certificates are given.
func serveOn(n net.Listener, handler http.HandlerFunc, certs ...tls.Certificate) (stop func()) {
	srv := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetHTTP2(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	srv.TLSConfig = &tls.Config{Certificates: certs, MinVersion: tls.VersionTLS12}
	serve := srv.Serve
	if len(certs) > 0 {
		serve = func(l net.Listener) error { return srv.ServeTLS(l, "", "") }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serve(n) // always http.ErrServerClosed
	}()
	return func() {
		_ = srv.Close()
		<-done
	}
}

// answer makes a Config whose server answers each connection's one request with
// the given bytes and then closes it.
func answer(raw []byte) Config {
	return Config{
		Server:                   "http://api.example",
		AllowInsecureCredentials: true, // it is in memory
		Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				if _, err := http.ReadRequest(bufio.NewReader(server)); err != nil {
					return
				}
				_, _ = server.Write(raw) // the client may have seen enough
			}()
			return client, nil
		},
	}
}

// writeFrames sends frames, each as soon as it is given.
func writeFrames(w http.ResponseWriter, frames ...string) {
	w.Header().Set("Content-Type", "application/json")
	for _, f := range frames {
		_, _ = io.WriteString(w, f+"\n")
	}
	_ = http.NewResponseController(w).Flush()
}

// pass lets virtual time pass, in a bubble.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
