package transport

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

func TestNewClientChecksItsConfig(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	missing, empty, junk := filepath.Join(dir, "missing"), file("empty", ""), file("junk", "junk")
	tests := []struct {
		name    string
		cfg     Config
		wantErr string
	}{
		{"no server", Config{}, "no Server is set"},
		{"no URL", Config{Server: "https://u:pass-word@[::1"}, "Server is not a URL"},
		{"no scheme", Config{Server: "127.0.0.1:6443"}, "Server"},
		{"another scheme", Config{Server: "ftp://u:pass-word@x"}, "is not an http or https URL"},
		{"no host", Config{Server: "https:///x"}, "names no host"},
		{"credentials", Config{Server: "https://u:pass-word@x"}, "use Username and Password"},
		{"query", Config{Server: "https://x?a=b"}, "has a query"},
		{"protocol", Config{Protocol: 9}, "Protocol 9 is unknown: want ProtocolAuto, ProtocolHTTP1 or ProtocolHTTP2"},
		{"CA and insecure", Config{TLS: TLSConfig{CAData: []byte("x"), Insecure: true}}, "set one of the two"},
		{"CA file and insecure", Config{TLS: TLSConfig{CAFile: junk, Insecure: true}}, "set one of the two"},
		{"CA file is missing", Config{TLS: TLSConfig{CAFile: missing}}, "TLS.CAFile: open " + missing},
		{"CA file is empty", Config{TLS: TLSConfig{CAFile: empty}}, "TLS.CAFile: " + empty + " is empty"},
		{"CA file is junk", Config{TLS: TLSConfig{CAFile: junk}}, "TLS.CAFile " + junk + " holds no certificate"},
		{"CA data is junk", Config{TLS: TLSConfig{CAData: []byte("junk")}}, "TLS.CAData holds no certificate"},
		{"certificate without key", Config{TLS: TLSConfig{CertData: []byte("x")}}, "TLS.CertData is a client certificate without a key"},
		{"key without certificate", Config{TLS: TLSConfig{KeyFile: junk}}, "TLS.KeyFile " + junk + " is a client key without a certificate"},
		{"key file is missing", Config{TLS: TLSConfig{CertData: []byte("x"), KeyFile: missing}}, "TLS.KeyFile: open " + missing},
		{"pair is junk", Config{TLS: TLSConfig{CertFile: junk, KeyData: []byte("x")}}, "client certificate (TLS.CertFile " + junk + ", TLS.KeyData)"},
		{"token and password", Config{BearerToken: "pass-word", Username: "u"}, "a request can carry one of them"},
		{"token file and password", Config{BearerTokenFile: junk, Password: "pass-word"}, "a request can carry one of them"},
		{"password only", Config{Password: "pass-word"}, "without a Username"},
		{"token with a newline", Config{BearerToken: "pass-word\n"}, "BearerToken: the token has a space or a control character at byte 9"},
		{"token file is missing", Config{BearerTokenFile: missing}, "BearerTokenFile: open " + missing},
		{"token file is empty", Config{BearerTokenFile: empty}, "BearerTokenFile " + empty + ": the token is empty"},
		{"proxy is no URL", Config{ProxyURL: "http://u:pass-word@[::1"}, "ProxyURL is not a valid URL"},
		{"proxy without host", Config{ProxyURL: "proxy:3128"}, "ProxyURL is not a valid URL"},
		{"proxy scheme", Config{ProxyURL: "ftp://u:pass-word@proxy"}, `ProxyURL has the scheme "ftp"`},
		{"proxy with plain HTTP/2", Config{Server: "http://x", ProxyURL: "http://proxy", Protocol: ProtocolHTTP2}, "cannot be used with HTTP/2 on a plain connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.cfg.Server == "" && tt.name != "no server" {
				tt.cfg.Server = "https://api.example"
			}
			_, err := NewClient(tt.cfg)
			checkError(t, err, tt.wantErr)
			checkError(t, err, "transport config: ")
			if strings.Contains(err.Error(), "pass-word") {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

func TestVersionOfUserAgent(t *testing.T) {
	mod := func(path, version string) debug.Module { return debug.Module{Path: path, Version: version} }
	self, other := mod(modulePath, "v1.2.3"), mod("example.com/other", "v9.9.9")
	devel, replaced := mod(modulePath, "(devel)"), mod(modulePath, "v1.0.0")
	replaced.Replace = &debug.Module{Path: "../relist"}
	tests := []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"no build info", nil, fallbackVersion},
		{"a dependency", &debug.BuildInfo{Main: other, Deps: []*debug.Module{&other, &self}}, "1.2.3"},
		{"the program itself", &debug.BuildInfo{Main: self}, "1.2.3"},
		{"built from a checkout", &debug.BuildInfo{Main: devel}, fallbackVersion},
		{"replaced by a folder", &debug.BuildInfo{Main: other, Deps: []*debug.Module{&replaced}}, fallbackVersion},
		{"not there", &debug.BuildInfo{Main: other}, fallbackVersion},
	}
	for _, tt := range tests {
		if got := versionIn(tt.info); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestProxy asks through a proxy, and through one that is not there: the error must
// not tell its password.
func TestProxy(t *testing.T) {
	var asked string
	c := newTestClient(t, Config{
		Server:   "https://api.example",
		ProxyURL: "http://user:pass-word@proxy.example:3128",
		Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
			asked = addr
			return nil, os.ErrPermission
		},
	})
	_, err := c.Get(t.Context(), Request{Path: "/"})
	checkError(t, err, os.ErrPermission.Error())
	if asked != "proxy.example:3128" {
		t.Errorf("dialled %q, want the proxy", asked)
	}
	if strings.Contains(err.Error(), "pass-word") {
		t.Errorf("the error tells a secret: %v", err)
	}
}

func TestInClusterOutsideOfOne(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := InCluster(); !errors.Is(err, ErrNotInCluster) {
		t.Errorf("error %v, want ErrNotInCluster", err)
	}
}

func TestInCluster(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{}
	getenv := func(name string) string { return env[name] }
	write := func(name, text string) {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}

	if _, err := inCluster(dir, getenv); !errors.Is(err, ErrNotInCluster) {
		t.Fatalf("outside of a cluster: error %v", err)
	}
	env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"] = "fd00::1", "443"
	_, err := inCluster(dir, getenv)
	checkError(t, err, filepath.Join(dir, "token"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want one that is os.ErrNotExist", err)
	}

	write("token", "t")
	write("ca.crt", "ca")
	cfg, err := inCluster(dir, getenv)
	must.OK(t, err)
	if cfg.Server != "https://[fd00::1]:443" || cfg.Namespace != "" {
		t.Errorf("server %q, namespace %q", cfg.Server, cfg.Namespace)
	}
	write("namespace", "shop\n")
	cfg, err = inCluster(dir, getenv)
	if err != nil || cfg.Namespace != "shop" {
		t.Errorf("namespace %q, error %v", cfg.Namespace, err)
	}
	if cfg.BearerTokenFile != filepath.Join(dir, "token") || cfg.BearerToken != "" {
		t.Errorf("token file %q: the token must stay in its file", cfg.BearerTokenFile)
	}
}
