package transport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
)

// tokenServer accepts one bearer token, and says which ones it was shown.
type tokenServer struct {
	accepted string
	seen     []string
}

func (s *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.seen = append(s.seen, token)
	if token != s.accepted {
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`, http.StatusUnauthorized)
	}
}

// take returns the tokens shown since the last call.
func (s *tokenServer) take() string {
	seen := strings.Join(s.seen, " ")
	s.seen = nil
	return seen
}

func TestTokenRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		must.OK(t, os.WriteFile(path, []byte(token+"\n"), 0o600))
	}
	write("first-token")
	synctest.Test(t, func(t *testing.T) {
		network, server := memnet.New(), &tokenServer{accepted: "first-token"}
		defer serveOn(network, server.ServeHTTP)()
		c := newTestClient(t, Config{Server: "http://127.0.0.1", Dial: network.Dial, BearerToken: "ignored", BearerTokenFile: path})
		defer c.Close()
		get := func(wantErr, wantSeen string) {
			t.Helper()
			resp, err := c.Get(t.Context(), Request{Path: "/"})
			checkError(t, err, wantErr)
			if err == nil {
				resp.Body.Close()
			}
			if seen := server.take(); seen != wantSeen {
				t.Errorf("the server was shown %q, want %q", seen, wantSeen)
			}
		}

		get("", "first-token")
		write("second-token") // while the old one is good still
		get("", "first-token")
		pass(tokenAge)
		server.accepted = "second-token"
		get("", "second-token")

		write("third-token")
		server.accepted = "third-token" // and the old one is refused at once
		get("", "second-token third-token")
		get("", "third-token")

		server.accepted = "another" // refused, and the file has nothing new
		get("401 Unauthorized", "third-token")
		write("fourth-token") // something new, but no better
		get("401 Unauthorized", "third-token fourth-token")

		must.OK(t, os.Remove(path))
		pass(tokenAge)
		server.accepted = "fourth-token"
		get("", "fourth-token") // the last one is used as long as it is good
		server.accepted = "another"
		get("Unauthorized (and a new token cannot be read: BearerTokenFile: open "+path, "fourth-token")
	})
}

func TestTokenIsNotReplacedIfTheCallerGaveOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	must.OK(t, os.WriteFile(path, []byte("mine"), 0o600))
	server := &tokenServer{accepted: "mine"}
	cfg := serve(t, server.ServeHTTP)
	cfg.BearerTokenFile = path
	_, err := newTestClient(t, cfg).Get(t.Context(), Request{Path: "/", Header: http.Header{"Authorization": {"Bearer theirs"}}})
	checkError(t, err, "401 Unauthorized")
	if seen := server.take(); seen != "theirs" {
		t.Errorf("the server was shown %q", seen)
	}
}

// TestCredentialsStayWithTheirServer has a server that redirects to another one.
func TestCredentialsStayWithTheirServer(t *testing.T) {
	other := &tokenServer{}
	elsewhere := serve(t, other.ServeHTTP).Server
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/stolen", http.StatusFound)
	})
	cfg.BearerToken = "s3cr3t-token"
	_, err := newTestClient(t, cfg).Get(t.Context(), Request{Path: "/"})
	checkError(t, err, "redirects are not followed")
	if seen := other.take(); seen != "" {
		t.Errorf("the other server was shown %q", seen)
	}
}

// TestTokenIsSharedByManyRequests rotates the token under them; the race detector
// watches.
func TestTokenIsSharedByManyRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	must.OK(t, os.WriteFile(path, []byte("old-token"), 0o600))
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new-token" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	cfg.BearerTokenFile = path
	c := newTestClient(t, cfg)
	must.OK(t, os.WriteFile(path, []byte("new-token"), 0o600))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			resp, err := c.Get(t.Context(), Request{Path: "/"})
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
	}
	all.Wait()
}

// TestTokenUntilItsFileIsThere has a file that comes later, or is empty at first.
func TestTokenUntilItsFileIsThere(t *testing.T) {
	for _, first := range []string{"missing", "empty"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New()
				var used string
				stop := serveOn(network, func(_ http.ResponseWriter, r *http.Request) { used = r.Header.Get("Authorization") })
				defer stop()
				path := filepath.Join(t.TempDir(), "token")
				write := func(text string) {
					must.OK(t, os.WriteFile(path, []byte(text), 0o600))
				}
				if first == "empty" {
					write("\n")
				}
				var problems []error
				c := newTestClient(t, Config{
					Server: "http://127.0.0.1", Dial: network.Dial, BearerToken: "first-token", BearerTokenFile: path,
					OnProblem: func(err error) { problems = append(problems, err) },
				})
				defer c.Close()
				for _, want := range []string{"Bearer first-token", "Bearer second-token"} {
					if err := getAll(t.Context(), c, "/"); err != nil || used != want {
						t.Errorf("%s was used, %v; want %s", used, err, want)
					}
					write("second-token\n")
					pass(tokenAge)
				}
				if len(problems) != 1 {
					t.Fatalf("problems: %v", problems)
				}
				checkError(t, problems[0], "BearerTokenFile")
				checkError(t, problems[0], "BearerToken is used")
			})
		})
	}
	_, err := NewClient(Config{Server: "https://api.example", BearerToken: "a b", BearerTokenFile: filepath.Join(t.TempDir(), "missing")})
	checkError(t, err, "; and BearerToken: the token has a space")
}

// TestNoCredentialInTheClear has servers without TLS, and credentials of each kind.
func TestNoCredentialInTheClear(t *testing.T) {
	noNetwork := errors.New("no network")
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, noNetwork }
	credentials := map[string]Config{
		"token":    {BearerToken: "secret-token"},
		"file":     {BearerTokenFile: "/dev/null/secret"},
		"password": {Username: "me", Password: "pass-word"},
		"program":  {Exec: &ExecConfig{Command: "/bin/false"}},
	}
	for _, tt := range []struct {
		server, proxy string
		allow, sent   bool
	}{
		{server: "http://api.example"},
		{server: "http://10.0.0.1:8080"},
		{server: "http://localhost.example"},
		{server: "http://127.0.0.1.example"},
		{server: "http://[fe80::1]"},
		{server: "http://127.0.0.1", proxy: "http://proxy.example"},
		{server: "http://localhost", proxy: "socks5://127.0.0.1:1"},
		{server: "http://api.example", allow: true, sent: true},
		{server: "http://127.0.0.1", proxy: "http://proxy.example", allow: true, sent: true},
		{server: "http://localhost:8080", sent: true},
		{server: "http://127.0.0.2", sent: true},
		{server: "http://[::1]:8080", sent: true},
		{server: "http://[::1%25lo]:8080", sent: true},
		{server: "http://[fe80::1%25lo]:8080"},
		{server: "https://api.example", sent: true},
		{server: "https://api.example", proxy: "http://proxy.example", sent: true},
	} {
		for kind, cfg := range credentials {
			cfg.Server, cfg.ProxyURL, cfg.AllowInsecureCredentials, cfg.Dial = tt.server, tt.proxy, tt.allow, dial
			_, err := NewClient(cfg)
			if got := !errors.Is(err, ErrCleartext); got != tt.sent {
				t.Errorf("%s to %s by %q, allowed %t: %v", kind, tt.server, tt.proxy, tt.allow, err)
			}
		}
		// Whoever sets the header says with it what he does, but may not know where it goes.
		c := newTestClient(t, Config{Server: tt.server, ProxyURL: tt.proxy, AllowInsecureCredentials: tt.allow, Dial: dial})
		_, err := c.Get(t.Context(), Request{Path: "/", Header: http.Header{"Authorization": {"Bearer secret-token"}}})
		want := noNetwork
		if !tt.sent {
			want = ErrCleartext
		}
		if !errors.Is(err, want) {
			t.Errorf("a header to %s by %q, allowed %t: %v", tt.server, tt.proxy, tt.allow, err)
		}
		if err := getAll(t.Context(), c, "/"); !errors.Is(err, noNetwork) {
			t.Errorf("nobody to %s by %q: %v", tt.server, tt.proxy, err)
		}
	}
	cfg := Config{Server: "http://api.example", BearerToken: "secret-token", RoundTripper: http.DefaultTransport}
	if _, err := NewClient(cfg); !errors.Is(err, ErrCleartext) {
		t.Errorf("by a RoundTripper: %v", err)
	}
	_, err := NewClient(Config{Server: "http://api.example", Username: "me", Password: "pass-word"})
	checkError(t, err, "transport config: Username is set for http://api.example, but the server is spoken to without TLS")
}
