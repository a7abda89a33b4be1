package transport_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
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

	t     testing.TB
	kind  credential
	life  time.Duration
	files *files

	mu      sync.Mutex
	seen    counts
	ca      *pair // of the server, and of clients
	serving tls.Certificate
	open    map[net.Conn]struct{}
}

// newRotatingWorld makes a world in which credentials are good for the time that the caller lets pass between two calls of rotate,
// which should be life.
func newRotatingWorld(t testing.TB, kind credential, life time.Duration) *rotatingWorld {
	t.Helper()
	w := &rotatingWorld{
		api: apitest.New(apitest.Options{}), t: t, kind: kind, life: life,
		files: &files{t: t, dir: t.TempDir()}, open: make(map[net.Conn]struct{}),
	}
	w.install()
	return w
}

// rotate makes the present credential worthless, and gives the client another.
func (w *rotatingWorld) rotate() {
	w.mu.Lock()
	w.seen.Rotations++
	w.install()
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

// generation is the number of the present credential.
func (w *rotatingWorld) generation() int { return w.seen.Rotations + 1 }

func (w *rotatingWorld) token() string { return fmt.Sprintf("token-of-generation-%d", w.generation()) }

// install writes the files of the present generation.
func (w *rotatingWorld) install() {
	if w.ca == nil || w.kind == authority {
		w.ca = newPair(w.t, nil, w.generation())
		w.serving = newPair(w.t, w.ca, w.generation()).tls()
	}
	client := newPair(w.t, w.ca, w.generation())
	status := fmt.Sprintf(`{"token":%q}`, w.token())
	if w.kind == execExpires {
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

// config is the client's, for a server at an address. Its problems fail the test.
func (w *rotatingWorld) config(addr string) transport.Config {
	cfg := transport.Config{
		Server:    "https://" + addr,
		TLS:       transport.TLSConfig{CAFile: w.files.path("ca.crt")},
		OnProblem: func(err error) { w.t.Errorf("problem: %v", err) },
	}
	switch w.kind {
	case token:
		cfg.BearerTokenFile = w.files.path("token")
	case execToken, execExpires:
		cfg.Exec = &transport.ExecConfig{Command: "cat", Args: []string{w.files.path("credential")}, Stderr: os.Stderr}
	case certificate:
		cfg.TLS.CertFile, cfg.TLS.KeyFile = w.files.path("tls.crt"), w.files.path("tls.key")
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
		if len(r.TLS.PeerCertificates) == 0 {
			return false
		}
		cert := r.TLS.PeerCertificates[0]
		roots := x509.NewCertPool()
		roots.AddCert(w.ca.cert)
		_, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		return err == nil && cert.SerialNumber.Int64() == int64(w.generation())
	case authority:
		return true
	}
	return false
}

// files is a folder as the kubelet makes it for secrets: each file is a symbolic link
// into a folder that is replaced as a whole, by one rename.
type files struct {
	t       testing.TB
	dir     string
	version int
}

func (f *files) path(name string) string { return filepath.Join(f.dir, name) }

// replace gives the files new contents at once.
func (f *files) replace(contents map[string][]byte) {
	f.t.Helper()
	f.version++
	data := "..data_" + strconv.Itoa(f.version)
	err := os.Mkdir(f.path(data), 0o700)
	for name, text := range contents {
		err = errors.Join(err, os.WriteFile(filepath.Join(f.dir, data, name), text, 0o600))
		if f.version == 1 {
			err = errors.Join(err, os.Symlink(filepath.Join("..data", name), f.path(name)))
		}
	}
	err = errors.Join(err, os.Symlink(data, f.path("..data_tmp")), os.Rename(f.path("..data_tmp"), f.path("..data")))
	if err != nil {
		f.t.Fatal(err)
	}
}

// rotatingHost is the name of the server.
const rotatingHost = "127.0.0.1"

// pair is a certificate with its key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newPair makes a certificate that parent has signed; nil makes an authority.
func newPair(t testing.TB, parent *pair, generation int) *pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(generation)),
		Subject:      pkix.Name{CommonName: "rotating"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.ParseIP(rotatingHost)},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	issuer := &pair{cert: template, key: key}
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid = true, true
	} else {
		issuer = parent
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.cert, key.Public(), issuer.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &pair{cert: cert, key: key}
}

func (p *pair) tls() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key, Leaf: p.cert}
}

func (p *pair) certPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw})
}

func (p *pair) keyPEM(t testing.TB) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(p.key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}
