package connect

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
)

const kubeconfig = `
current-context: here
contexts:
- {name: here, context: {cluster: c, user: u, namespace: shop}}
clusters:
- {name: c, cluster: {server: "https://api.example:6443", insecure-skip-tls-verify: true}}
users:
- {name: u, user: {username: ann, password: secret}}
`

func TestConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	must.OK(t, os.WriteFile(file, []byte(kubeconfig), 0o600))
	t.Setenv("KUBECONFIG", file)
	named := filepath.Join(t.TempDir(), "named")
	must.OK(t, os.WriteFile(named, []byte("current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: 'https://a', tls-server-name: b}}]\n"), 0o600))
	token, authority := filepath.Join(t.TempDir(), "token"), newAuthority(t)
	must.OK(t, os.WriteFile(token, []byte("t"), 0o600))
	fromFile := transport.Config{
		Server: "https://api.example:6443", Namespace: "shop", Username: "ann", Password: "secret",
		TLS: transport.TLSConfig{Insecure: true},
	}
	with := func(change func(*transport.Config)) transport.Config {
		cfg := fromFile
		change(&cfg)
		return cfg
	}
	for name, tt := range map[string]struct {
		flags Flags
		want  transport.Config
	}{
		"environment": {Flags{}, fromFile},
		"file":        {Flags{Kubeconfig: file, Context: "here"}, fromFile},
		// A server that is named by hand gets nothing out of a file that is not.
		"server alone": {Flags{Server: "http://127.0.0.1:1"}, transport.Config{Server: "http://127.0.0.1:1"}},
		"server and file": {Flags{Server: "https://other", Kubeconfig: file}, with(func(c *transport.Config) {
			c.Server = "https://other"
		})},
		"in the clear": {Flags{Cleartext: true}, with(func(c *transport.Config) { c.AllowInsecureCredentials = true })},
		// The name that a certificate carries is that of the file's server.
		"server and name": {Flags{Server: "https://other", Kubeconfig: named}, transport.Config{Server: "https://other"}},
		"two names": {Flags{Server: "https://other", Kubeconfig: named, ServerName: "mine"}, transport.Config{
			Server: "https://other", TLS: transport.TLSConfig{ServerName: "mine"},
		}},
		"token": {Flags{Token: "t"}, with(func(c *transport.Config) {
			c.BearerToken, c.Username, c.Password = "t", "", ""
		})},
		"token file": {Flags{TokenFile: token}, with(func(c *transport.Config) {
			c.BearerTokenFile, c.Username, c.Password = token, "", ""
		})},
		"authority": {Flags{CAFile: authority}, with(func(c *transport.Config) {
			c.TLS = transport.TLSConfig{CAFile: authority}
		})},
		"certificate": {Flags{CertFile: "crt", KeyFile: "key", ServerName: "kubernetes"}, with(func(c *transport.Config) {
			c.TLS.CertFile, c.TLS.KeyFile, c.TLS.ServerName = "crt", "key", "kubernetes"
			c.Username, c.Password = "", ""
		})},
		"proxy":  {Flags{ProxyURL: "socks5://proxy"}, with(func(c *transport.Config) { c.ProxyURL = "socks5://proxy" })},
		"socket": {Flags{Server: "unix:///run/api.sock"}, transport.Config{Server: "unix:///run/api.sock"}},
		"another user": {
			Flags{As: "jane", AsGroups: []string{"dev", "ops"}},
			with(func(c *transport.Config) {
				c.Impersonate = transport.Impersonation{User: "jane", Groups: []string{"dev", "ops"}}
			}),
		},
		"insecure": {Flags{Server: "https://other", Insecure: true}, transport.Config{
			Server: "https://other", TLS: transport.TLSConfig{Insecure: true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.flags.Config()
			must.OK(t, err)
			if diff := cmp.Diff(tt.want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Dial" }, cmp.Ignore())); diff != "" {
				t.Errorf("Config (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", "")
	text := filepath.Join(t.TempDir(), "text")
	must.OK(t, os.WriteFile(text, []byte("root:x:0:0:root:/root:/bin/sh\n"), 0o600))
	for _, tt := range []struct {
		flags Flags
		want  string
	}{
		{Flags{}, "no API server is named"},
		{Flags{Kubeconfig: "/nowhere"}, "name another with --kubeconfig, or give --server URL"},
		{Flags{Context: "x"}, "--context x is one of a kubeconfig, and "},
		{Flags{Kubeconfig: text}, text + " is not a kubeconfig: it holds a string"},
		{Flags{Server: "http://h", TokenFile: "/nowhere"}, "--token-file: open /nowhere"},
		{Flags{Server: "https://h", CAFile: "/nowhere"}, "--certificate-authority: open /nowhere"},
		{Flags{Server: "https://h", CAFile: text}, "--certificate-authority: " + text + " holds no certificate in PEM"},
	} {
		_, err := tt.flags.Config()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: err = %v, want %q", tt.flags, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "transport.") {
			t.Errorf("%+v: %v: speaks of our types", tt.flags, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, f := range []Flags{
		{Token: "a", TokenFile: "b"},
		{CAFile: "a", Insecure: true},
		{Server: "127.0.0.1:43967"},
		{Server: "localhost"},
		{Server: "localhost:8080"},
		{Server: "ftp://localhost"},
		{Server: "http://"},
		{Server: "http://127.0.0.1:99999"},
		{Server: "https://:6443"},
		{Server: "unix://run/api.sock"},
		{Server: "unix:///"},
		{CertFile: "crt"},
		{KeyFile: "key"},
		{CertFile: "crt", KeyFile: "key", Token: "t"},
		{AsGroups: []string{"dev"}},
	} {
		if f.Check() == nil {
			t.Errorf("%+v: no error", f)
		}
	}
	for _, f := range []Flags{{Token: "a", CAFile: "b"}, {Server: "https://h"}, {Server: "http://127.0.0.1:8001/prefix"}, {Server: "https://[::1]:6443"}, {Server: "unix:///run/api.sock"}, {CertFile: "a", KeyFile: "b"}, {As: "jane", AsGroups: []string{"dev"}}} {
		if err := f.Check(); err != nil {
			t.Error(err)
		}
	}
}

// newAuthority returns a file with a certificate.
func newAuthority(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must.OK(t, os.WriteFile(file, data, 0o600))
	return file
}
