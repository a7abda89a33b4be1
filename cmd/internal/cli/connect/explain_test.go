package connect

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
)

// Each server is one that a person runs into. The errors are what transport makes of it.
func TestExplain(t *testing.T) {
	status := func(code int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		})
	}
	plain := func(h http.Handler) string {
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		return srv.URL
	}
	secure := httptest.NewUnstartedServer(status(200, "{}"))
	secure.Config.ErrorLog = discard()
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, tt := range map[string]struct {
		server string
		want   []string
	}{
		"nobody there": {closedPort(t), []string{"connection refused; is the API server running"}},
		"unknown name": {"http://api.invalid", []string{"cannot reach http://api.invalid", "is the name in --server"}},
		"refused": {
			plain(status(401, `{"kind":"Status","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`)),
			[]string{"refuses the credential (401 Unauthorized)", "--token"},
		},
		"forbidden": {
			plain(status(403, `{"kind":"Status","status":"Failure","message":"pods is forbidden","reason":"Forbidden","code":403}`)),
			[]string{"does not permit this (403): pods is forbidden", "list and watch"},
		},
		"anonymous": {
			plain(status(403, `{"kind":"Status","status":"Failure","message":"forbidden: User \"system:anonymous\" cannot get path","reason":"Forbidden","code":403}`)),
			[]string{"was given no credential (403: forbidden: ", "--kubeconfig"},
		},
		"no API server":   {plain(http.NotFoundHandler()), []string{"(404)", "is this its address"}},
		"unknown issuer":  {secure.URL, []string{"is not trusted", "--certificate-authority"}},
		"plain to secure": {"http://" + secure.Listener.Addr().String(), []string{"speaks TLS: use an https:// address"}},
		"secure to plain": {"https" + strings.TrimPrefix(plain(status(200, "{}")), "http"), []string{"does not speak TLS"}},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := transport.NewClient(transport.Config{Server: tt.server})
			must.OK(t, err)
			defer client.Close()
			_, cause := client.Get(t.Context(), transport.Request{Path: "/api"})
			if cause == nil {
				t.Fatal("the request succeeded")
			}
			err = Explain(cause, tt.server, time.Second)
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("explained as %q, want %q in it\ncause: %v", err, want, cause)
				}
			}
			if !errors.Is(err, cause) {
				t.Error("the cause is lost")
			}
		})
	}
}

// What is wrong with a proxy is not put down to the server.
func TestExplainAProxy(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = discard()
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for proxy, want := range map[string]string{
		"https" + strings.TrimPrefix(plain.URL, "http"): "first record does not look like a TLS handshake: check the address of the proxy, and whether it is an http:// one",
		secure.URL: "certificate signed by unknown authority: check the address of the proxy",
	} {
		client, err := transport.NewClient(transport.Config{Server: "https://api.example", ProxyURL: proxy})
		must.OK(t, err)
		t.Cleanup(client.Close)
		_, cause := client.Get(t.Context(), transport.Request{Path: "/api"})
		if cause == nil {
			t.Fatal("the request succeeded")
		}
		err = Explain(cause, "https://api.example", time.Second)
		at := "cannot reach https://api.example: TLS with the proxy " + strings.TrimPrefix(proxy, "https://") + ": "
		if !strings.HasPrefix(err.Error(), at) || !strings.Contains(err.Error(), want) {
			t.Errorf("explained as %q, want %q and %q in it", err, at, want)
		}
	}
}

// closedPort returns an address at which nobody listens, and nobody else can until the test ends:
// its port is that of a connection.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.OK(t, err)
	t.Cleanup(func() { ln.Close() })
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", ln.Addr().String())
	must.OK(t, err)
	t.Cleanup(func() { conn.Close() })
	return "http://" + conn.LocalAddr().String()
}

func TestExplainKeepsWhatItDoesNotKnow(t *testing.T) {
	err := errors.New("something else")
	if got := Explain(err, "http://x", time.Second); got != err { //nolint:errorlint // the very same
		t.Errorf("got %v", got)
	}
}

// A file that a kubeconfig names is told by its key.
func TestExplainFile(t *testing.T) {
	_, err := transport.NewClient(transport.Config{Server: "https://h", TLS: transport.TLSConfig{CAFile: "/nowhere"}})
	if got := Explain(err, "https://h", time.Second).Error(); !strings.HasPrefix(got, "kubeconfig or flags: certificate-authority of the context's cluster: open /nowhere") {
		t.Error(got)
	}
}
