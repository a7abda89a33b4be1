package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
)

// volume is a folder as the kubelet makes it for secrets: each file is a symbolic link
// into a folder that is replaced as a whole, by one rename.
type volume struct {
	t       *testing.T
	dir     string
	version int
}

func newVolume(t *testing.T, files map[string][]byte) *volume {
	t.Helper()
	v := &volume{t: t, dir: t.TempDir()}
	v.replace(files)
	for name := range files {
		must.OK(t, os.Symlink(filepath.Join("..data", name), v.path(name)))
	}
	return v
}

func (v *volume) path(name string) string { return filepath.Join(v.dir, name) }

// replace gives all files new contents at once.
func (v *volume) replace(files map[string][]byte) {
	v.t.Helper()
	v.version++
	data := "..data_" + strings.Repeat("i", v.version)
	err := os.Mkdir(v.path(data), 0o700)
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(v.dir, data, name), text, 0o600))
	}
	err = errors.Join(err, os.Symlink(data, v.path("..data_tmp")), os.Rename(v.path("..data_tmp"), v.path("..data")))
	if err != nil {
		v.t.Fatal(err)
	}
}

func filesOf(t *testing.T, ca, client tls.Certificate) map[string][]byte {
	t.Helper()
	return map[string][]byte{"ca.crt": pemOf(ca.Certificate[0]), "tls.crt": pemOf(client.Certificate[0]), "tls.key": pemOfKey(t, client)}
}

// mutualServer wants a client certificate, and remembers the ones it was shown.
type mutualServer struct {
	*memnet.Network

	names    map[string]string // of certificates
	accepted string            // all others are answered 401
	shown    []string
	stop     func()
}

func (s *mutualServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := s.names[string(r.TLS.PeerCertificates[0].Raw)]
	s.shown = append(s.shown, name)
	switch {
	case s.accepted != "" && name != s.accepted:
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/watch":
		holdOpen(`{}`)(w, r)
	}
}

// take returns the certificates shown since the last call.
func (s *mutualServer) take() string {
	shown := strings.Join(s.shown, " ")
	s.shown = nil
	return shown
}

// rotation is a client, and a server of which everything can be replaced.
type rotation struct {
	t                *testing.T
	server           *mutualServer
	volume           *volume
	client           *Client
	oldCA, newCA     tls.Certificate
	oldCert, newCert tls.Certificate
	problems         []string
	serving          tls.Certificate
	trusted          []tls.Certificate
	dialled          int
}

func newRotation(t *testing.T, protocol Protocol) *rotation {
	t.Helper()
	r := &rotation{t: t, oldCA: newCert(t, nil, "old.example"), newCA: newCert(t, nil, "new.example")}
	r.oldCert, r.newCert = newCert(t, &r.oldCA), newCert(t, &r.newCA)
	r.serving = newCert(t, &r.oldCA, "api.example")
	r.trusted = []tls.Certificate{r.oldCA, r.newCA}
	r.server = &mutualServer{names: map[string]string{string(r.oldCert.Certificate[0]): "old", string(r.newCert.Certificate[0]): "new"}}
	r.serve()
	r.volume = newVolume(t, filesOf(t, r.oldCA, r.oldCert))
	r.client = newTestClient(t, Config{
		Server: "https://api.example", Protocol: protocol,
		Dial: func(ctx context.Context, n, a string) (net.Conn, error) {
			r.dialled++
			return r.server.Dial(ctx, n, a)
		},
		TLS:       TLSConfig{CAFile: r.volume.path("ca.crt"), CertFile: r.volume.path("tls.crt"), KeyFile: r.volume.path("tls.key")},
		OnProblem: func(err error) { r.problems = append(r.problems, err.Error()) },
	})
	return r
}

// serve lets new connections be to a server with the present certificate.
func (r *rotation) serve() {
	if r.server.stop != nil {
		_ = r.server.Close() // the open connections stay
		defer r.t.Cleanup(r.server.stop)
	}
	r.server.Network = memnet.New()
	r.server.stop = serveMutual(r.server.Network, r.server.ServeHTTP, r.serving, r.trusted...)
}

func (r *rotation) get(wantErr, wantShown string) {
	r.t.Helper()
	checkError(r.t, getAll(r.t.Context(), r.client, "/get"), wantErr)
	if shown := r.server.take(); shown != wantShown {
		r.t.Errorf("the server was shown %q, want %q", shown, wantShown)
	}
}

func (r *rotation) watch() Stream {
	r.t.Helper()
	s, err := r.client.Watch(r.t.Context(), Request{Frames: jsonFrames, Path: "/watch"})
	if err == nil {
		_, err = s.Next()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rotation) takeProblems() string {
	text := strings.Join(r.problems, "\n")
	r.problems = nil
	return text
}

// open counts the connections of all generations that there are.
func open(g *generation) int {
	g.conns.mu.Lock()
	defer g.conns.mu.Unlock()
	return len(g.conns.open)
}

func (r *rotation) close() {
	r.client.Close()
	synctest.Wait()
	r.server.stop()
}

func onBothProtocols(t *testing.T, test func(t *testing.T, protocol Protocol)) {
	t.Helper()
	for _, protocol := range []Protocol{ProtocolHTTP1, ProtocolHTTP2} {
		t.Run(protocol.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, protocol) })
		})
	}
}

// TestClientCertificateRotation replaces the certificate while the old one is good.
// The watch that is open continues, and its connection ends with it.
func TestClientCertificateRotation(t *testing.T) {
	onBothProtocols(t, func(t *testing.T, protocol Protocol) {
		r := newRotation(t, protocol)
		defer r.close()
		s := r.watch()
		r.get("", "old old")
		before := r.client.connections.current
		r.volume.replace(filesOf(t, r.oldCA, r.newCert))
		r.get("", "old")    // it is not looked at for each request
		time.Sleep(certAge) //nolint:forbidigo // virtual time
		r.get("", "new")
		if r.client.connections.current == before || open(before) != 1 {
			t.Errorf("%d connections have the old certificate, want that of the watch", open(before))
		}
		s.Close()
		synctest.Wait()
		if n := open(before); n != 0 {
			t.Errorf("%d connections have the old certificate, and nobody uses them", n)
		}
		dialled := r.dialled
		time.Sleep(certAge) //nolint:forbidigo // virtual time
		r.get("", "new")
		if r.dialled != dialled {
			t.Error("the same certificate was taken for another one")
		}
		if p := r.takeProblems(); p != "" {
			t.Errorf("problems: %s", p)
		}
	})
}

// TestClientCertificateRefused replaces the certificate when the old one is good no
// longer. A 401 is as much of a reason to look as a handshake that fails.
func TestClientCertificateRefused(t *testing.T) {
	onBothProtocols(t, func(t *testing.T, protocol Protocol) {
		r := newRotation(t, protocol)
		defer r.close()
		r.get("", "old")
		r.volume.replace(filesOf(t, r.oldCA, r.newCert))
		r.server.accepted = "new"
		r.get("", "old new")
		r.server.accepted = "another"
		r.get("401 Unauthorized", "new") // nothing has changed: not again

		r.volume.replace(map[string][]byte{"ca.crt": pemOf(r.oldCA.Certificate[0])})
		r.get("(and there are no new certificates: TLS.CertFile: open "+r.volume.path("tls.crt"), "new")
	})
}

// TestAuthorityRotation replaces the authority of the server's certificate. Where the
// file has it in time, no request fails, and an open watch does not notice.
func TestAuthorityRotation(t *testing.T) {
	onBothProtocols(t, func(t *testing.T, protocol Protocol) {
		r := newRotation(t, protocol)
		defer func() { r.close() }()
		s := r.watch()
		r.get("", "old old")
		before := r.client.connections.current
		r.volume.replace(filesOf(t, r.newCA, r.oldCert))
		r.serving = newCert(t, &r.newCA, "api.example")
		r.serve()
		time.Sleep(certAge) //nolint:forbidigo // virtual time
		r.get("", "old")
		if r.client.connections.current == before || open(before) != 1 {
			t.Errorf("%d connections trust the old authority, want that of the watch", open(before))
		}
		s.Close()

		// The old authority is trusted no longer.
		r.serving = newCert(t, &r.oldCA, "api.example")
		r.serve()
		r.client.Close()
		r.get("x509: certificate signed by unknown authority", "")

		// A connection that cannot be made is a reason to look at the file.
		r.volume.replace(filesOf(t, r.oldCA, r.oldCert))
		r.get("", "old")
		if p := r.takeProblems(); p != "" {
			t.Errorf("problems: %s", p)
		}
	})
}

// TestServerThatTrustsAnotherAuthority refuses the old client certificate in the
// handshake, which is no 401.
func TestServerThatTrustsAnotherAuthority(t *testing.T) {
	onBothProtocols(t, func(t *testing.T, protocol Protocol) {
		r := newRotation(t, protocol)
		defer func() { r.close() }()
		r.get("", "old")
		r.serving, r.trusted = newCert(t, &r.newCA, "api.example"), []tls.Certificate{r.newCA}
		r.serve()
		r.client.Close()
		r.volume.replace(filesOf(t, r.newCA, r.newCert))
		r.get("", "new")
	})
}

// TestBrokenCertificates leaves the old ones in use, and says so once.
func TestBrokenCertificates(t *testing.T) {
	onBothProtocols(t, func(t *testing.T, protocol Protocol) {
		r := newRotation(t, protocol)
		defer r.close()
		r.get("", "old")
		good := filesOf(t, r.oldCA, r.newCert)
		for _, tt := range []struct{ file, text, want string }{
			{"ca.crt", "junk", "TLS.CAFile " + r.volume.path("ca.crt") + " holds no certificate in PEM; what was read before stays in use"},
			{"ca.crt", "", "ca.crt is empty; what was read before stays in use"},
			{"tls.crt", "junk", "client certificate (TLS.CertFile " + r.volume.path("tls.crt")},
			{"tls.key", string(pemOfKey(t, r.oldCert)), "private key does not match public key; what was read before stays in use"},
		} {
			files := filesOf(t, r.oldCA, r.newCert)
			files[tt.file] = []byte(tt.text)
			r.volume.replace(files)
			for range 3 {
				time.Sleep(certAge) //nolint:forbidigo // virtual time
				r.get("", "old")
			}
			if got := r.takeProblems(); !strings.Contains(got, tt.want) || strings.Count(got, "in use") != 1 {
				t.Errorf("%s is %q: told %q, want %q once", tt.file, tt.text, got, tt.want)
			}
		}
		r.volume.replace(good)
		time.Sleep(certAge) //nolint:forbidigo // virtual time
		r.get("", "new")
		files := filesOf(t, r.oldCA, r.newCert)
		delete(files, "tls.key")
		r.volume.replace(files)
		time.Sleep(certAge) //nolint:forbidigo // virtual time
		r.get("", "new")
		if got := r.takeProblems(); !strings.Contains(got, "tls.key: no such file") {
			t.Errorf("told %q", got)
		}
	})
}

// TestRotationsLeaveNothingBehind rotates a hundred times under watches that end in
// the meantime. The bubble fails the test if a goroutine is left.
func TestRotationsLeaveNothingBehind(t *testing.T) {
	onBothProtocols(t, func(t *testing.T, protocol Protocol) {
		r := newRotation(t, protocol)
		defer r.close()
		var streams []Stream
		for i := range 100 {
			cert := r.oldCert
			if i%2 == 0 {
				cert = r.newCert
			}
			r.volume.replace(filesOf(t, r.oldCA, cert))
			time.Sleep(certAge) //nolint:forbidigo // virtual time
			streams = append(streams, r.watch())
			if i >= 3 {
				streams[i-3].Close()
			}
		}
		for _, s := range streams[97:] {
			s.Close()
		}
		r.client.Close()
		synctest.Wait()
		if n := open(r.client.connections.current); n != 0 {
			t.Errorf("%d connections are open", n)
		}
	})
}
