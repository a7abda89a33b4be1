package transport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const exampleKubeconfig = `
apiVersion: v1
kind: Config
current-context: dev
preferences: {}
contexts:
- name: prod
  context: {cluster: prod, user: admin, namespace: shop}
- name: dev
  context: {cluster: dev, user: me}
- name: anonymous
  context: {cluster: dev}
- name: basic
  context: {cluster: dev, user: basic}
- name: tokenfile
  context: {cluster: dev, user: tokenfile}
- name: exec
  context: {cluster: dev, user: exec}
- name: provider
  context: {cluster: dev, user: provider}
- name: as
  context: {cluster: dev, user: as}
- name: lost-cluster
  context: {cluster: gone, user: me}
- name: lost-user
  context: {cluster: dev, user: gone}
- name: no-server
  context: {cluster: no-server}
clusters:
- name: prod
  cluster:
    server: https://10.0.0.1:6443/prefix
    certificate-authority-data: Y2E=
    tls-server-name: kubernetes
    proxy-url: http://proxy.example:3128
- name: dev
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority: pki/ca.crt
- name: insecure
  cluster: {server: https://127.0.0.1, insecure-skip-tls-verify: true}
- name: no-server
  cluster: {}
users:
- name: admin
  user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}
- name: me
  user: {client-certificate: pki/me.crt, client-key: /etc/me.key, token: t0ken}
- name: basic
  user: {username: u, password: p}
- name: tokenfile
  user: {tokenFile: token}
- name: exec
  user: {exec: {command: aws}}
- name: provider
  user: {auth-provider: {name: gcp}}
- name: as
  user: {token: x, as: root}
`

func TestKubeconfig(t *testing.T) {
	dev := func(change func(*Config)) Config {
		cfg := Config{Server: "https://127.0.0.1:6443", TLS: TLSConfig{CAFile: "/dir/pki/ca.crt"}}
		change(&cfg)
		return cfg
	}
	tests := []struct {
		context string
		want    Config
		wantErr string
	}{
		{context: "", want: dev(func(c *Config) {
			c.TLS.CertFile, c.TLS.KeyFile, c.BearerToken = "/dir/pki/me.crt", "/etc/me.key", "t0ken"
		})},
		{context: "prod", want: Config{
			Server: "https://10.0.0.1:6443/prefix", Namespace: "shop", ProxyURL: "http://proxy.example:3128",
			TLS: TLSConfig{CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key"), ServerName: "kubernetes"},
		}},
		{context: "anonymous", want: dev(func(*Config) {})},
		{context: "basic", want: dev(func(c *Config) { c.Username, c.Password = "u", "p" })},
		{context: "tokenfile", want: dev(func(c *Config) { c.BearerTokenFile = "/dir/token" })},
		{context: "exec", wantErr: `user "exec": exec: apiVersion is missing`},
		{context: "provider", wantErr: `user "provider": auth-provider "gcp" is not supported: use the exec plugin gke-gcloud-auth-plugin`},
		{context: "as", want: dev(func(c *Config) { c.BearerToken, c.Impersonate.User = "x", "root" })},
		{context: "lost-cluster", wantErr: `context "lost-cluster" names the cluster "gone", which is not there; known clusters: dev, insecure, no-server, prod`},
		{context: "lost-user", wantErr: `context "lost-user" names the user "gone", which is not there; known users: admin, as, basic,`},
		{context: "no-server", wantErr: `cluster "no-server" has no server`},
		{context: "nope", wantErr: `no context "nope"; known contexts: anonymous, as, basic, dev, exec,`},
	}
	for _, tt := range tests {
		t.Run(tt.context, func(t *testing.T) {
			got, err := parseKubeconfig([]byte(exampleKubeconfig), "/dir", tt.context)
			checkError(t, err, tt.wantErr)
			if diff := cmp.Diff(tt.want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Dial" }, cmp.Ignore())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// parseKubeconfig reads a file's bytes; dir is what its relative paths start from.
func parseKubeconfig(data []byte, dir, contextName string) (Config, error) {
	file, err := decodeKubeconfig(data, dir)
	if err != nil {
		return Config{}, err
	}
	return file.config(contextName)
}

// checkError fails the test unless err's text contains want; "" is no error.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Fatalf("error %v, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Fatalf("error %v\nwant one with %q", err, want)
	}
}

func TestKubeconfigErrors(t *testing.T) {
	tests := []struct{ name, in, wantErr string }{
		{"empty", "", "no context is named, and the file has no current-context: name one; the file has no contexts"},
		{"no current-context", "contexts: [{name: a}, {name: B}]", "known contexts: B, a"},
		{"not YAML", "a: b: c", "yaml"},
		{"not base64", "clusters: [{name: a, cluster: {certificate-authority-data: '!'}}]", "base64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseKubeconfig([]byte(tt.in), "/dir", "")
			checkError(t, err, tt.wantErr)
		})
	}
}

// TestKubeconfigErrorsQuoteNoValue has files in which a secret stands where YAML, JSON
// or a URL cannot have it.
func TestKubeconfigErrorsQuoteNoValue(t *testing.T) {
	const rest = "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
	user := func(token string) string { return rest + "users: [{name: u, user: {token: " + token + "}}]" }
	server := func(s string) string {
		return rest + "users: [{name: u}]\nclusters: [{name: c, cluster: {server: '" + s + "'}}]"
	}
	for _, tt := range []struct{ in, wantErr string }{
		{user("*swordfish"), "line 3: an alias (*), a tag (!) or a key that is not valid: put values with such characters in quotes"},
		{user("!!int swordfish"), "line 3: an alias"},
		{user("!!float swordfish"), "line 3: an alias"},
		{user("&swordfish [*swordfish]"), "line 3: an alias"},
		{user("{[swordfish]: 1}"), "line 3: an alias"},
		{user("!swordfish"), "line 3: did not find"},
		{user("@swordfish"), "line 3: found character that cannot start any token"},
		{user(`"\qswordfish"`), "found unknown escape character"},
		{user("[swordfish]"), "yaml: line 3: users[0].user.token is of the wrong type (array)"},
		{"{\"users\": [\n  {\"user\": {\n    \"token\": 1234567\n  }}\n]}\n", "yaml: line 3: users[0].user.token is of the wrong type (number): put it in quotes"},
		{"users:\n- user:\n    token: *swordfish\ncontexts: []\n", "line 3: an alias"},
		{"users: swordfish", "yaml: line 1: users is of the wrong type (string)"},
		{"users:\n- user:\n    as-user-extra: {'-1': swordfish}", "yaml: line 3: users[0].user.as-user-extra"},
		{"users:\n- user:\n    as-user-extra: {'0': swordfish}", "yaml: line 3: users[0].user.as-user-extra"},
		{"users: [{user: 1234567}]", "yaml: line 1: users[0].user is of the wrong type (number)"},
		{"users: [{user: {client-key-data: '!swordfish'}}]", "yaml: line 1: users[0].user.client-key-data: illegal base64 data at input byte 0"},
		{server("https://[::1?token=swordfish"), "the Server is not a URL"},
		{server("https://host:swordfish"), "the Server is not a URL"},
		{server("https://host/%zz?token=swordfish"), "the Server is not a URL"},
		{server("https:///?token=swordfish"), "the Server names no host"},
		{server("https://host/?token=swordfish"), "the Server https://host has a query"},
		{server("https://host/#swordfish"), "the Server https://host has a query or a fragment"},
		{server("swordfish"), "the Server is not an http or https URL"},
		{server("token:swordfish"), "the Server is not an http or https URL"},
	} {
		cfg, err := parseKubeconfig([]byte(tt.in), "/dir", "")
		if err == nil {
			_, err = NewClient(cfg)
		}
		checkError(t, err, tt.wantErr)
		for _, secret := range []string{"swordfish", "1234567"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error quotes the secret: %v", tt.in, err)
			}
		}
	}
}

// TestKubeconfigIsReadAsKubectlReadsIt has files that a more lenient reader would take for
// something else: other names of fields, and scalars that are no text.
func TestKubeconfigIsReadAsKubectlReadsIt(t *testing.T) {
	file := func(cluster, user string) string {
		return "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
	}
	const server = "server: 'https://a.example'"
	plain := Config{Server: "https://a.example"}
	for _, tt := range []struct {
		name, in string
		want     Config
		wantErr  string
	}{
		{"the case of names counts", file(server+", Insecure-Skip-TLS-Verify: true, SERVER: 'https://b.example'", "TOKEN: secret, Username: me"), plain, ""},
		{"unknown fields", file(server+", new: 1", "new: {a: [b]}"), plain, ""},
		{"disable-compression", file(server+", disable-compression: true", ""), Config{Server: "https://a.example", Gzip: new(false)}, ""},
		{"base64 with line breaks", file(server+`, certificate-authority-data: "Y2Fj\nYQ==\n"`, ""), Config{Server: "https://a.example", TLS: TLSConfig{CAData: []byte("caca")}}, ""},
		{"a key without a certificate", file(server, "client-key: x, client-key-data: eA=="), plain, ""},
		{"a password without a user", file(server, "password: x"), plain, ""},
		{"no scheme", file("server: 'localhost:8080'", ""), Config{Server: "http://localhost:8080"}, ""},
		{"no scheme, an address", file("server: '10.0.0.1:8080'", ""), Config{Server: "http://10.0.0.1:8080"}, ""},
		{"no scheme, IPv6", file("server: '[::1]:8080'", ""), Config{Server: "http://[::1]:8080"}, ""},
		{"a boolean in quotes", file(server+", insecure-skip-tls-verify: 'true'", ""), plain, "yaml: line 3: clusters[0].cluster.insecure-skip-tls-verify is of the wrong type (string)"},
		{"both certificate and data", file(server, "client-certificate: x, client-certificate-data: eA==, client-key: x"), plain, `user "u": there is both client-certificate and client-certificate-data`},
		{"both key and data", file(server, "client-certificate: x, client-key-data: eA==, client-key: x"), plain, `user "u": there is both client-key and client-key-data`},
		{"both authority and data", file(server+", certificate-authority: x, certificate-authority-data: eA==", ""), plain, `cluster "c" has both certificate-authority and certificate-authority-data`},
		{"another kind", "kind: Pod\n" + file(server, ""), plain, `the file is a "Pod" of ""`},
		{"another version", "kind: Config\napiVersion: v2\n" + file(server, ""), plain, `the file is a "Config" of "v2"`},
		{"OpenID Connect", file(server, "auth-provider: {name: oidc, config: {id-token: x}}"), plain, `auth-provider "oidc" is not supported: use an exec plugin that logs in by OpenID Connect, such as kubelogin`},
		{"an unknown provider", file(server, "auth-provider: {name: other}"), plain, `auth-provider "other" is not supported: use a program (exec)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseKubeconfig([]byte(tt.in), "/dir", "")
			checkError(t, err, tt.wantErr)
			if err != nil {
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, scalar := range []string{"012345", "1e10", "0x1F4A", "1_000_000", "123456789012345678901234", "1.10", "yes", "0o17", ".5", "-1", "true"} {
		_, err := parseKubeconfig([]byte(file(server, "username: a, password: "+scalar)), "/dir", "")
		checkError(t, err, "yaml: line 4: users[0].user.password is of the wrong type")
		checkError(t, err, "put it in quotes")
	}
	for _, scalar := range []string{"1:30", "1.2.3", "~x"} {
		cfg, err := parseKubeconfig([]byte(file(server, "username: a, password: "+scalar)), "/dir", "")
		if err != nil || cfg.Password != scalar {
			t.Errorf("%s became %q, %v", scalar, cfg.Password, err)
		}
	}
}
