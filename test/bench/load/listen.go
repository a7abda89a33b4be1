package load

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// maxStreams is how many requests share one HTTP/2 connection of kube-apiserver (--http2-max-streams-per-connection).
// Source: https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
const maxStreams = 250

// Listen starts to serve on a free port of loopback, and returns the URL: HTTP/1.1 in
// the clear, or HTTP/2 over TLS with a certificate that nobody knows. The error of the
// server comes over the channel.
func (s *Server) Listen(http2 bool) (url string, failed <-chan error, err error) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed with the process
	if err != nil {
		return "", nil, err
	}
	listener := countingListener{tcp, &s.sent}
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
	}
	errs := make(chan error, 1)
	if !http2 {
		go func() { errs <- server.Serve(listener) }()
		return "http://" + listener.Addr().String(), errs, nil
	}
	certificate, err := selfSigned()
	if err != nil {
		return "", nil, err
	}
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	go func() { errs <- server.ServeTLS(listener, "", "") }()
	return "https://" + listener.Addr().String(), errs, nil
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

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
