package transport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
)

// TestNothingIsLeftBehind ends requests and streams in each way there is. The bubble
// fails the test if a goroutine outlives them.
func TestNothingIsLeftBehind(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network, cfg := memnet.New(), Config{Server: "http://api.example", Protocol: w.protocol}
				cfg.Dial = network.Dial
				var certs []tls.Certificate
				if w.tls {
					cert := newCert(t, nil, "api.example")
					certs = append(certs, cert)
					cfg.Server, cfg.TLS.CAData = "https://api.example", pemOf(cert.Certificate[0])
				}
				stop := serveOn(network, func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/refused":
						http.Error(w, "no", http.StatusForbidden)
					case "/html":
						w.Header().Set("Content-Type", "text/html")
						_ = http.NewResponseController(w).Flush()
						_, _ = io.WriteString(w, "<html>")
					case "/cut":
						writeFrames(w, `{}`)
						panic(http.ErrAbortHandler)
					default:
						holdOpen(`{}`)(w, r)
					}
				}, certs...)
				c, err := NewClient(cfg)
				must.OK(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for _, path := range []string{"/refused", "/html"} {
					if _, err := c.Watch(ctx, Request{Frames: jsonFrames, Path: path}); err == nil {
						t.Errorf("%s: no error", path)
					}
				}
				resp, err := c.Get(ctx, Request{Path: "/abandoned"})
				must.OK(t, err)
				resp.Body.Close()
				for _, path := range []string{"/closed", "/cut", "/canceled"} {
					s, err := c.Watch(ctx, Request{Frames: jsonFrames, Path: path})
					must.OK(t, err)
					if _, err := s.Next(); err != nil {
						t.Fatal(err)
					}
					switch path {
					case "/closed":
						s.Close()
					case "/canceled":
						cancel()
					}
					if _, err := s.Next(); err == nil || err == io.EOF { //nolint:errorlint // io.EOF itself is meant
						t.Errorf("%s: %v", path, err)
					}
					s.Close()
				}
				c.Close()
				stop()
			})
		})
	}
}

// newCert makes a certificate for names, signed by parent or by itself.
func newCert(t *testing.T, parent *tls.Certificate, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.OK(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "relist"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		}
	}
	issuer, signer := template, any(key)
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid = true, true
	} else {
		issuer, signer = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, signer)
	must.OK(t, err)
	leaf, err := x509.ParseCertificate(der)
	must.OK(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func pemOfKey(t *testing.T, c tls.Certificate) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	must.OK(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// TestTLS has a server whose certificate is for another name, and which asks for a
// client's.
func TestTLS(t *testing.T) {
	ca := newCert(t, nil)
	serverCert, clientCert := newCert(t, &ca, "kubernetes"), newCert(t, &ca)
	clients := x509.NewCertPool()
	clients.AddCert(ca.Leaf)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{serverCert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	srv.Config.ErrorLog = nil
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)

	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, data, 0o600))
		return path
	}
	caPEM, certPEM, keyPEM := pemOf(ca.Certificate[0]), pemOf(clientCert.Certificate[0]), pemOfKey(t, clientCert)
	tests := []struct {
		name    string
		tls     TLSConfig
		wantErr string
	}{
		{"data", TLSConfig{CAData: caPEM, CertData: certPEM, KeyData: keyPEM, ServerName: "kubernetes"}, ""},
		{"files", TLSConfig{CAFile: file("ca", caPEM), CertFile: file("crt", certPEM), KeyFile: file("key", keyPEM), ServerName: "kubernetes"}, ""},
		{"data wins over a file", TLSConfig{CAFile: "/missing", CAData: caPEM, CertFile: "/missing", CertData: certPEM, KeyFile: "/missing", KeyData: keyPEM, ServerName: "kubernetes"}, ""},
		{"insecure", TLSConfig{Insecure: true, CertData: certPEM, KeyData: keyPEM}, ""},
		{"system CA only", TLSConfig{CertData: certPEM, KeyData: keyPEM, ServerName: "kubernetes"}, "certificate signed by unknown authority"},
		{"another name", TLSConfig{CAData: caPEM, CertData: certPEM, KeyData: keyPEM, ServerName: "other"}, "certificate is valid for kubernetes, not other"},
		{"no client certificate", TLSConfig{CAData: caPEM, ServerName: "kubernetes"}, "certificate required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Server: srv.URL, TLS: tt.tls}
			if tt.name == "no client certificate" {
				// The refusal comes after the handshake of TLS 1.3, and HTTP/2 hides it.
				cfg.Protocol = ProtocolHTTP1
			}
			resp, err := newTestClient(t, cfg).Get(t.Context(), Request{Path: "/"})
			checkError(t, err, tt.wantErr)
			if err == nil {
				resp.Body.Close()
			}
		})
	}
}

// TestDialIsUsedOnEveryWire counts the connections that the caller made itself.
func TestDialIsUsedOnEveryWire(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			cfg := w.serve(t, func(http.ResponseWriter, *http.Request) {})
			dialled := make(chan string, 9)
			cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				dialled <- addr
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
			resp, err := newTestClient(t, cfg).Get(t.Context(), Request{Path: "/"})
			must.OK(t, err)
			resp.Body.Close()
			if got := len(dialled); got != 1 {
				t.Errorf("%d connections were dialled, want 1", got)
			}
		})
	}
}
