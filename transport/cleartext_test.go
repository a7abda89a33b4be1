package transport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
)

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
