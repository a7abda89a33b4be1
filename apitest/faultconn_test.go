package apitest

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// dialRaw opens a connection and sends a request by it.
func dialRaw(t *testing.T, addr, path string) (net.Conn, *bufio.Reader) {
	t.Helper()
	var d net.Dialer
	conn := must.Get[net.Conn](t)(d.DialContext(t.Context(), "tcp", strings.TrimPrefix(addr, "http://")))
	t.Cleanup(func() { conn.Close() })
	ask(t, conn, path)
	return conn, bufio.NewReader(conn)
}

func ask(t *testing.T, conn net.Conn, path string) {
	t.Helper()
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Error(err)
	}
}

// until reads to a line that has a part.
func until(t *testing.T, r *bufio.Reader, part string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("waiting for %q: %v", part, err)
		}
		if strings.Contains(line, part) {
			return
		}
	}
}

// A connection that is half open has no bytes, no answers and no end, whatever the server does,
// until it is shut.
func TestHalfOpen(t *testing.T) {
	s, addr := Start(t, Options{})
	must.Get[string](t)(s.Create("configmaps", configMap("d", "a")))
	watching, events := dialRaw(t, addr, configMaps)
	until(t, events, `"ADDED"`)
	idle, answers := dialRaw(t, addr, "/readyz")
	until(t, answers, "Content-Length: 2")
	spared, others := dialRaw(t, addr, faultsPath)
	until(t, others, "POST /_faults/half-open")

	if n := s.HalfOpen(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	must.Get[string](t)(s.Create("configmaps", configMap("d", "b")))
	ask(t, idle, "/readyz")
	s.EndWatches()
	ask(t, spared, "/readyz")
	until(t, others, "Content-Length: 2")
	fresh, live := dialRaw(t, addr, configMaps)
	until(t, live, `"name":"b"`)

	silent := func(conn net.Conn, r *bufio.Reader) {
		t.Helper()
		must.OK(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
		rest, err := io.ReadAll(r)
		if s := string(rest); !errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(s, `"name":"b"`) || strings.Contains(s, "HTTP/1.1") {
			t.Errorf("a silent connection: %q, %v", rest, err)
		}
	}
	silent(watching, events)
	silent(idle, answers)
	_ = fresh.Close()

	must.OK(t, s.Refuse(0))
	must.OK(t, watching.SetReadDeadline(time.Time{}))
	if _, err := io.ReadAll(events); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection outlived the port")
	}
}

// With TLS there is HTTP/2, the authority is one for all, and faults work as without.
func TestListenTLS(t *testing.T) {
	s := New(Options{AllowedHosts: []string{"api.test"}})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	l := must.Get[*Listener](t)(s.ListenTLS("127.0.0.1:0"))
	other := must.Get[*Listener](t)(s.Replica("b").ListenTLS("127.0.0.1:0"))
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(l.CA) || string(l.CA) != string(other.CA) {
		t.Fatalf("authorities %s and %s", l.CA, other.CA)
	}
	for _, http2 := range []bool{true, false} {
		for _, name := range []string{"", "localhost", "api.test"} {
			var p http.Protocols
			p.SetHTTP1(!http2)
			p.SetHTTP2(http2)
			transport := &http.Transport{Protocols: &p, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for _, at := range []*Listener{l, other} {
				if a := request(t, client, "GET", at.URL+"/api/v1/configmaps", ""); a.code != http.StatusOK {
					t.Errorf("%s as %q: %d", at.URL, name, a.code)
				}
			}
			resp := open(t, client, "GET", l.URL+configMaps, "")
			defer resp.Body.Close()
			if (resp.ProtoMajor == 2) != http2 {
				t.Errorf("answered by %s", resp.Proto)
			}
			must.Get[int](t)(s.Cut(Cut{Reset: true}))
			if _, err := io.ReadAll(resp.Body); err == nil {
				t.Error("the watch was not cut")
			}
		}
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp := open(t, &http.Client{Transport: transport}, "GET", l.URL+configMaps, "")
	defer resp.Body.Close()
	if n := s.HalfOpen(); n < 1 {
		t.Errorf("%d connections are half open, want one at least", n)
	}
}
