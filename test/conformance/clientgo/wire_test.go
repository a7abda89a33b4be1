package clientgo

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
)

// TestWire gives kubeconfigs to clientcmd and rest, and to relist, and compares what a
// server sees of a request, and how often a program was run. What is meant to differ is a
// row of docs/differences.md: it has to differ, or else the row is out of date.
func TestWire(t *testing.T) {
	differences, err := os.ReadFile("../../../docs/differences.md")
	must.OK(t, err)
	w := newWireWorld(t)
	t.Setenv("HOME", t.TempDir())
	same, different := 0, 0
	for _, c := range wireCases {
		w.write(c)
		theirErr := theirGet(t.Context(), c.context)
		want := w.seen()
		ourErr := ourGet(t.Context(), c.context)
		got := w.seen()
		equal := (theirErr == nil) == (ourErr == nil) && want == got
		switch {
		case equal && c.differs == "":
			same++
		case equal:
			t.Errorf("%s: both do the same, and docs/differences.md has a row %q", c.name, c.differs)
		case c.differs == "":
			t.Errorf("%s:\nclient-go: %s, error %v\n   relist: %s, error %v", c.name, want, theirErr, got, ourErr)
		case !strings.Contains(string(differences), "| "+c.differs+" |"):
			t.Errorf("%s differs, and docs/differences.md has no row %q", c.name, c.differs)
		default:
			different++
		}
	}
	t.Logf("of %d kubeconfigs %d are the same, %d differ as documented", len(wireCases), same, different)
	if len(wireCases) < 130 {
		t.Error("that are too few")
	}
}

// wireWorld is two servers, one of them with TLS, and a folder for kubeconfigs.
type wireWorld struct {
	t             *testing.T
	secure, plain *httptest.Server
	texts         map[string]string // that kubeconfigs have in braces
	dir           string            // of the case at hand

	mu   sync.Mutex
	last string // request
}

func newWireWorld(t *testing.T) *wireWorld {
	w := &wireWorld{t: t, texts: make(map[string]string)}
	w.secure = httptest.NewUnstartedServer(w)
	w.secure.TLS = &tls.Config{Certificates: []tls.Certificate{w.certificates()}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	w.secure.EnableHTTP2 = true
	w.secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.secure.StartTLS()
	t.Cleanup(w.secure.Close)
	w.plain = httptest.NewServer(w)
	t.Cleanup(w.plain.Close)
	for name, srv := range map[string]*httptest.Server{"HTTPS": w.secure, "HTTP": w.plain} {
		host := srv.Listener.Addr().String()
		_, port, err := net.SplitHostPort(host)
		must.OK(t, err)
		w.texts[name], w.texts[name+"HOST"], w.texts[name+"PORT"] = srv.URL, host, port
	}
	return w
}

// ServeHTTP notes of a request what depends on a kubeconfig.
func (w *wireWorld) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var parts []string
	for name, values := range r.Header {
		if name == "Authorization" || strings.HasPrefix(name, "Impersonate") || name == "Accept-Encoding" {
			parts = append(parts, name+"="+strings.Join(values, ","))
		}
	}
	if r.TLS != nil {
		parts = append(parts, "SNI="+r.TLS.ServerName)
		for _, c := range r.TLS.PeerCertificates {
			parts = append(parts, "certificate="+c.Subject.CommonName)
		}
	}
	slices.Sort(parts)
	w.mu.Lock()
	w.last = r.Host + " " + r.URL.String() + " " + strings.Join(parts, "; ")
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(rw, `{"kind":"APIVersions"}`)
}

// seen returns the last request, and how often the program was run, since the last call.
func (w *wireWorld) seen() string {
	w.t.Helper()
	w.mu.Lock()
	text := w.last
	w.last = ""
	w.mu.Unlock()
	// What a program is told is JSON, in which the order of fields says nothing.
	for _, version := range []string{"v1beta1", "v1"} {
		text = strings.ReplaceAll(text, "kind:ExecCredential;apiVersion:client.authentication.k8s.io/"+version, "apiVersion:client.authentication.k8s.io/"+version+";kind:ExecCredential")
	}
	text = strings.ReplaceAll(text, ";config:null", "")
	runs := filepath.Join(w.dir, "ran")
	ran, err := os.ReadFile(runs)
	if err == nil {
		err = os.Remove(runs)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("%q, %d runs", text, strings.Count(string(ran), "\n"))
}

// write makes the files of a case.
func (w *wireWorld) write(c wireCase) {
	w.t.Helper()
	top := w.t.TempDir()
	w.dir = filepath.Join(top, "d0")
	w.texts["DIR"] = w.dir
	var paths []string
	for i, text := range c.files {
		paths = append(paths, filepath.Join(top, fmt.Sprintf("d%d", i), "config"))
		w.writeFile(paths[i], w.fill(text), 0o600)
	}
	for name, text := range c.extra {
		w.writeFile(filepath.Join(w.dir, name), w.fill(text), 0o600)
	}
	w.writeFile(filepath.Join(w.dir, "cert.pem"), w.texts["CERT"], 0o600)
	w.writeFile(filepath.Join(w.dir, "key.pem"), w.texts["KEY"], 0o600)
	w.writeFile(filepath.Join(w.dir, "plug.sh"), w.fill(plugin), 0o700)
	list := strings.Join(paths, ":")
	if c.list != "" {
		w.texts["F0"] = paths[0]
		list = w.fill(c.list)
	}
	w.t.Setenv("KUBECONFIG", list)
}

func (w *wireWorld) writeFile(path, text string, mode os.FileMode) {
	w.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// fill replaces what a text has in braces.
func (w *wireWorld) fill(text string) string {
	for name, value := range w.texts {
		text = strings.ReplaceAll(text, "{{"+name+"}}", value)
	}
	return text
}

// plugin prints an ExecCredential, as the variables of its entry say, whose token tells
// what the program was told.
const plugin = `#!/bin/sh
echo ran >>{{DIR}}/ran
T="${TOK:-exec-token}-$(printf %s "$*$KUBERNETES_EXEC_INFO" | sed 's/"certificate-authority-data":"[^"]*"/CA/;s/127.0.0.1:[0-9]*/HOST/' | tr -d '"{} ' | tr ',' ';')"
J() { printf '%s\n' "{\"apiVersion\":\"client.authentication.k8s.io/${V:-v1}\",\"kind\":\"ExecCredential\",\"status\":{$1}}"; }
pem() { sed ':a;N;$!ba;s/\n/\\n/g' "$1"; }
case "$MODE" in
empty) J '"token":""';;
future) J "\"token\":\"$T\",\"expirationTimestamp\":\"2099-01-01T00:00:00Z\"";;
past) J "\"token\":\"$T\",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\"";;
fail) exit 1;;
newline) J "\"token\":\"abc\\n\"";;
trailing) J "\"token\":\"$T\""; echo bye;;
yaml) printf 'apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n  token: yamltoken\n';;
unknown) J "\"token\":\"$T\",\"foo\":1";;
cert) J "\"clientCertificateData\":\"$(pem {{DIR}}/cert.pem)\",\"clientKeyData\":\"$(pem {{DIR}}/key.pem)\"";;
*) J "\"token\":\"$T\"";;
esac
`

// certificates makes an authority and a client's certificate, which kubeconfigs can have,
// and returns that of the server.
func (w *wireWorld) certificates() tls.Certificate {
	w.t.Helper()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	sign := func(cert *x509.Certificate, key *ecdsa.PrivateKey) string {
		der, err := x509.CreateCertificate(rand.Reader, cert, authority, &key.PublicKey, authorityKey)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	issue := func(name string, n int64) (certPEM, keyPEM string) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			w.t.Fatal(err)
		}
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			w.t.Fatal(err)
		}
		return sign(&x509.Certificate{
			SerialNumber: big.NewInt(n), Subject: pkix.Name{CommonName: name}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
			DNSNames: []string{"api.test", "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		}, key), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	}
	w.texts["CA"] = sign(authority, authorityKey)
	w.texts["CERT"], w.texts["KEY"] = issue("jane", 2)
	for _, name := range []string{"CA", "CERT", "KEY"} {
		w.texts[name+"B64"] = base64.StdEncoding.EncodeToString([]byte(w.texts[name]))
	}
	for part := range slices.Chunk([]byte(w.texts["CAB64"]), 64) {
		w.texts["CAB64FOLD"] += string(part) + `\n`
	}
	cert, key := issue("server", 3)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		w.t.Fatal(err)
	}
	return pair
}

// wirePatience is how long a request may take: none leaves this machine.
const wirePatience = 10 * time.Second

// theirGet sends a request as client-go does.
func theirGet(ctx context.Context, name string) error {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{CurrentContext: name})
	cfg, err := loader.ClientConfig()
	if err != nil {
		return err
	}
	if _, _, err := loader.Namespace(); err != nil {
		return err
	}
	cfg.Timeout = wirePatience
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base.String(), "/")+"/api", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return errors.Join(err, resp.Body.Close())
}

// ourGet sends the same request as relist does.
func ourGet(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, wirePatience)
	defer cancel()
	cfg, err := transport.LoadKubeconfig(transport.KubeconfigOptions{Context: name})
	if err != nil {
		return err
	}
	if cfg.Gzip == nil {
		cfg.Gzip = new(true) // which it is for a server that is not on this machine
	}
	client, err := transport.NewClient(cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	resp, err := client.Get(ctx, transport.Request{Path: "/api"})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
