package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
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
		"token": {Flags{Token: "t"}, with(func(c *transport.Config) {
			c.BearerToken, c.Username, c.Password = "t", "", ""
		})},
		"token file": {Flags{TokenFile: "f"}, with(func(c *transport.Config) {
			c.BearerTokenFile, c.Username, c.Password = "f", "", ""
		})},
		"authority": {Flags{CAFile: "ca"}, with(func(c *transport.Config) {
			c.TLS = transport.TLSConfig{CAFile: "ca"}
		})},
		"insecure": {Flags{Server: "https://other", Insecure: true}, transport.Config{
			Server: "https://other", TLS: transport.TLSConfig{Insecure: true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.flags.Config()
			if err != nil {
				t.Fatal(err)
			}
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
	for _, tt := range []struct {
		flags Flags
		want  string
	}{
		{Flags{}, "no API server is named"},
		{Flags{Kubeconfig: "/nowhere"}, "name another with --kubeconfig, or give --server URL"},
		{Flags{Context: "x"}, "name another with --kubeconfig, or give --server URL"},
	} {
		_, err := tt.flags.Config()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: err = %v, want %q", tt.flags, err, tt.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, f := range []Flags{{Token: "a", TokenFile: "b"}, {CAFile: "a", Insecure: true}} {
		if f.Check() == nil {
			t.Errorf("%+v: no error", f)
		}
	}
	if err := (&Flags{Token: "a", CAFile: "b"}).Check(); err != nil {
		t.Error(err)
	}
}
