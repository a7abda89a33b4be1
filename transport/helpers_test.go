package transport

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/json"
	"github.com/relist-go/relist/listwatch/protobuf"
	"github.com/relist-go/relist/transport/frames"
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

// jsonFrames is for watches whose format does not matter.
var (
	jsonFrames     = []frames.Format{json.Format{}}
	protobufFrames = []frames.Format{protobuf.Format{}}
	protobufOrJSON = []frames.Format{protobuf.Format{}, json.Format{}}
)

// frameOf returns an object of exactly size bytes, 8 or more.
func frameOf(size int) string {
	return `{"a":"` + strings.Repeat("x", size-8) + `"}`
}

// captured is a response that a kube-apiserver sent.
type captured struct {
	*http.Response
	raw  []byte // from the status line on
	body []byte
}

func capturedResponse(t testing.TB, path string) captured {
	t.Helper()
	data, err := os.ReadFile(path)
	must.OK(t, err)
	// Lines that begin with "> " tell the request.
	start := bytes.Index(data, []byte("HTTP/1.1 "))
	if start < 0 {
		t.Fatalf("%s: no status line", path)
	}
	raw := data[start:]
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	// The files end with a newline of their own.
	raw = bytes.TrimSuffix(raw, []byte("\r\n\n"))
	if len(raw) < len(data)-start {
		raw = append(raw, "\r\n"...)
	}
	if resp.ContentLength >= 0 {
		raw = raw[:bytes.Index(raw, []byte("\r\n\r\n"))+4+len(body)]
	}
	return captured{resp, raw, body}
}
