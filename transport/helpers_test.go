package transport

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// waitFor waits until a state of the world that nothing announces has come.
func waitFor(t *testing.T, reached func() bool) {
	t.Helper()
	patience := time.Now().Add(time.Minute)
	for !reached() {
		if time.Now().After(patience) {
			t.Fatal("it has not come to that within a minute")
		}
		runtime.Gosched()
	}
}

// stopProcess ends a process of the test's own.
func stopProcess(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Errorf("process %q: %v", pid, err)
		return
	}
	process, err := os.FindProcess(n)
	if err == nil {
		err = process.Signal(syscall.SIGKILL)
	}
	if err != nil {
		t.Errorf("process %d: %v", n, err)
	}
}

// serveMutual serves over TLS on a network, with a certificate, and wants one of
// clients that it has signed, or any that it has signed itself if more are given.
func serveMutual(n net.Listener, handler http.HandlerFunc, server tls.Certificate, clients ...tls.Certificate) (stop func()) {
	pool := x509.NewCertPool()
	for _, ca := range append(clients, server) {
		pool.AddCert(ca.Leaf)
	}
	srv := &http.Server{Handler: handler, ErrorLog: discardLog, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12,
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.ServeTLS(n, "", "") // always http.ErrServerClosed
	}()
	return func() {
		_ = srv.Close()
		<-done
	}
}

// discardLog is for servers that would log the handshakes that are meant to fail.
var discardLog = log.New(io.Discard, "", 0)
