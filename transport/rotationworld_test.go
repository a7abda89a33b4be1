package transport_test

import (
	"bytes"
	"crypto/tls"
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

// credential is what is rotated.
type credential string

const (
	token       credential = "token"         // a bearer token, in a file
	execToken   credential = "exec"          // a bearer token that a program prints
	execExpires credential = "exec, expires" // the same, and the program says until when
	certificate credential = "certificate"   // the client's
	authority   credential = "authority"     // that of the server's certificate
)

var credentials = []credential{token, execToken, execExpires, certificate, authority}

// counts are what the server has seen.
type counts struct {
	Rotations, Lists, Watches, Unauthorized int
}

// rotatingWorld is an API server whose credentials are good for a few seconds, and the files of a client, which follow:
//
//	rotate --> the server accepts generation n+1 only
//	           the files hold generation n+1, by one rename
//	check  --> one list, no relist, at most one 401 for each rotation
//
// The two happen at once, so that the next request is always made with what is good no longer: that is the worst of the moments
// at which a rotation can come.
type rotatingWorld struct {
	api *apitest.Server // what lies behind the credentials; the caller closes it

	t     *testing.T
	kind  credential
	life  time.Duration
	files *transport.Volume

	mu      sync.Mutex
	seen    counts
	ca      tls.Certificate // of the server, and of clients
	serving tls.Certificate
	client  []byte // the certificate that is good
	open    map[net.Conn]struct{}
}

// newRotatingWorld makes a world in which credentials are good for the time that the caller lets pass between two calls of rotate,
// which should be life.
func newRotatingWorld(t *testing.T, kind credential, life time.Duration) *rotatingWorld {
	t.Helper()
	w := &rotatingWorld{
		api: apitest.New(apitest.Options{}), t: t, kind: kind, life: life,
		open: make(map[net.Conn]struct{}),
	}
	w.files = transport.NewVolume(t, w.present())
	return w
}

// rotate makes the present credential worthless, and gives the client another.
func (w *rotatingWorld) rotate() {
	w.mu.Lock()
	w.seen.Rotations++
	w.files.Replace(w.present())
	var cut []net.Conn
	if w.kind == authority { // connections would outlive it, which shows nothing
		for c := range w.open { // in any order: all of them go
			cut = append(cut, c)
		}
	}
	w.mu.Unlock()
	for _, c := range cut {
		_ = c.Close()
	}
}

// counts returns what the server has seen so far.
func (w *rotatingWorld) counts() counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *rotatingWorld) token() string {
	return fmt.Sprintf("token-of-generation-%d", w.seen.Rotations+1)
}

// present makes the present generation, and returns its files.
func (w *rotatingWorld) present() map[string][]byte {
	if w.client == nil || w.kind == authority {
		w.ca = transport.NewCert(w.t, nil)
		w.serving = transport.NewCert(w.t, &w.ca, rotatingHost)
	}
	client := transport.NewCert(w.t, &w.ca)
	w.client = client.Certificate[0]
	status := fmt.Sprintf(`{"token":%q}`, w.token())
	if w.kind == execExpires {
		status = fmt.Sprintf(`{"token":%q,"expirationTimestamp":%q}`, w.token(), time.Now().Add(w.life).Format(time.RFC3339Nano))
	}
	return map[string][]byte{
		"ca.crt":     transport.PEMOf(w.ca.Certificate[0]),
		"tls.crt":    transport.PEMOf(w.client),
		"tls.key":    transport.PEMOfKey(w.t, client),
		"token":      []byte(w.token()),
		"credential": []byte(`{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":` + status + "}\n"),
	}
}

// config is the client's, for a server at an address. Its problems fail the test.
func (w *rotatingWorld) config(addr string) transport.Config {
	cfg := transport.Config{
		Server:    "https://" + addr,
		TLS:       transport.TLSConfig{CAFile: w.files.Path("ca.crt")},
		OnProblem: func(err error) { w.t.Errorf("problem: %v", err) },
	}
	switch w.kind {
	case token:
		cfg.BearerTokenFile = w.files.Path("token")
	case execToken, execExpires:
		cfg.Exec = &transport.ExecConfig{Command: "cat", Args: []string{w.files.Path("credential")}, Stderr: os.Stderr}
	case certificate:
		cfg.TLS.CertFile, cfg.TLS.KeyFile = w.files.Path("tls.crt"), w.files.Path("tls.key")
	case authority:
	}
	return cfg
}

// serve answers connections over TLS until stop is called.
func (w *rotatingWorld) serve(ln net.Listener) (stop func()) {
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
func (w *rotatingWorld) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	ok := w.authorized(r)
	switch {
	case !ok:
		w.seen.Unauthorized++
	case r.URL.Query().Get("watch") == "true":
		w.seen.Watches++
	default:
		w.seen.Lists++
	}
	w.mu.Unlock()
	if !ok {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`)
		return
	}
	w.api.ServeHTTP(rw, r)
}

func (w *rotatingWorld) authorized(r *http.Request) bool {
	switch w.kind {
	case token, execToken, execExpires:
		return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") == w.token()
	case certificate:
		return len(r.TLS.PeerCertificates) > 0 && bytes.Equal(r.TLS.PeerCertificates[0].Raw, w.client)
	case authority:
		return true
	}
	return false
}

// rotatingHost is the name of the server.
const rotatingHost = "127.0.0.1"
