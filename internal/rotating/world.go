package rotating

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/transport"
)

// Kind is what is rotated.
type Kind string

// The kinds.
const (
	Token       Kind = "token"         // a bearer token, in a file
	Exec        Kind = "exec"          // a bearer token that a program prints
	ExecExpires Kind = "exec, expires" // the same, and the program says until when
	Certificate Kind = "certificate"   // the client's
	Authority   Kind = "authority"     // that of the server's certificate
)

// Kinds are all of them.
var Kinds = []Kind{Token, Exec, ExecExpires, Certificate, Authority}

// Counts are what the server has seen.
type Counts struct {
	Rotations, Lists, Watches, Unauthorized int
}

// World is the server, and the files of its client.
type World struct {
	// API is what lies behind the credentials. The caller closes it.
	API *apitest.Server

	t     testing.TB
	kind  Kind
	life  time.Duration
	files *files

	mu      sync.Mutex
	counts  Counts
	ca      *pair // of the server, and of clients
	serving tls.Certificate
	open    map[net.Conn]struct{}
}

// New makes a world in which credentials are good for the time that the caller lets
// pass between two calls of Rotate, which should be life.
func New(t testing.TB, kind Kind, life time.Duration) *World {
	t.Helper()
	w := &World{
		API: apitest.New(apitest.Options{}), t: t, kind: kind, life: life,
		files: &files{t: t, dir: t.TempDir()}, open: make(map[net.Conn]struct{}),
	}
	w.install()
	return w
}

// Rotate makes the present credential worthless, and gives the client another.
func (w *World) Rotate() {
	w.mu.Lock()
	w.counts.Rotations++
	w.install()
	var cut []net.Conn
	if w.kind == Authority { // connections would outlive it, which shows nothing
		for c := range w.open { // in any order: all of them go
			cut = append(cut, c)
		}
	}
	w.mu.Unlock()
	for _, c := range cut {
		_ = c.Close()
	}
}

// Counts returns what the server has seen so far.
func (w *World) Counts() Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts
}

// generation is the number of the present credential.
func (w *World) generation() int { return w.counts.Rotations + 1 }

func (w *World) token() string { return fmt.Sprintf("token-of-generation-%d", w.generation()) }

// install writes the files of the present generation.
func (w *World) install() {
	if w.ca == nil || w.kind == Authority {
		w.ca = newPair(w.t, nil, w.generation())
		w.serving = newPair(w.t, w.ca, w.generation()).tls()
	}
	client := newPair(w.t, w.ca, w.generation())
	status := fmt.Sprintf(`{"token":%q}`, w.token())
	if w.kind == ExecExpires {
		status = fmt.Sprintf(`{"token":%q,"expirationTimestamp":%q}`, w.token(), time.Now().Add(w.life).Format(time.RFC3339Nano))
	}
	w.files.replace(map[string][]byte{
		"ca.crt":     w.ca.certPEM(),
		"tls.crt":    client.certPEM(),
		"tls.key":    client.keyPEM(w.t),
		"token":      []byte(w.token()),
		"credential": []byte(`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":` + status + "}\n"),
	})
}

// Config is the client's, for a server at an address. Its problems fail the test.
func (w *World) Config(addr string) transport.Config {
	cfg := transport.Config{
		Server:    "https://" + addr,
		TLS:       transport.TLSConfig{CAFile: w.files.path("ca.crt")},
		OnProblem: func(err error) { w.t.Errorf("problem: %v", err) },
	}
	switch w.kind {
	case Token:
		cfg.BearerTokenFile = w.files.path("token")
	case Exec, ExecExpires:
		cfg.Exec = &transport.ExecConfig{Command: "cat", Args: []string{w.files.path("credential")}, Stderr: os.Stderr}
	case Certificate:
		cfg.TLS.CertFile, cfg.TLS.KeyFile = w.files.path("tls.crt"), w.files.path("tls.key")
	case Authority:
	}
	return cfg
}

// Serve answers connections over TLS until stop is called.
func (w *World) Serve(ln net.Listener) (stop func()) {
	srv := &http.Server{
		Handler:  w,
		ErrorLog: log.New(io.Discard, "", 0), // handshakes are meant to fail
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			ClientAuth: tls.RequestClientCert,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				serving := w.serving
				return &serving, nil
			},
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			w.mu.Lock()
			defer w.mu.Unlock()
			switch state {
			case http.StateNew:
				w.open[c] = struct{}{}
			case http.StateClosed:
				delete(w.open, c)
			default: // open still
			}
		},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.ServeTLS(ln, "", "") // always http.ErrServerClosed
	}()
	return func() {
		_ = srv.Close()
		<-done
	}
}

// ServeHTTP lets only the present credential pass.
func (w *World) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	ok := w.authorized(r)
	switch {
	case !ok:
		w.counts.Unauthorized++
	case r.URL.Query().Get("watch") == "true":
		w.counts.Watches++
	default:
		w.counts.Lists++
	}
	w.mu.Unlock()
	if !ok {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`)
		return
	}
	w.API.ServeHTTP(rw, r)
}

func (w *World) authorized(r *http.Request) bool {
	switch w.kind {
	case Token, Exec, ExecExpires:
		return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") == w.token()
	case Certificate:
		if len(r.TLS.PeerCertificates) == 0 {
			return false
		}
		cert := r.TLS.PeerCertificates[0]
		roots := x509.NewCertPool()
		roots.AddCert(w.ca.cert)
		_, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		return err == nil && cert.SerialNumber.Int64() == int64(w.generation())
	case Authority:
		return true
	}
	return false
}
