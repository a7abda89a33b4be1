package cluster

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/relist-go/relist/transport"
)

// Access is what a client needs to reach the API server. It stays valid when the server is started
// again.
type Access struct {
	URL string // https://127.0.0.1:PORT

	CAFile         string // PEM: the authority of the server's certificate
	ClientCertFile string // PEM: an administrator's certificate
	ClientKeyFile  string // PEM: its key

	AdminToken     string // bearer token of a member of system:masters
	PowerlessToken string // bearer token of a known user who may read nothing: 403
}

// Config returns the configuration of the administrator for a client of relist.
func (a Access) Config() transport.Config {
	return transport.Config{Server: a.URL, BearerToken: a.AdminToken, TLS: transport.TLSConfig{CAFile: a.CAFile}}
}

// ClientGo returns the configuration of the administrator for a client of client-go, which does not
// limit its requests.
func (a Access) ClientGo() *rest.Config {
	return &rest.Config{Host: a.URL, BearerToken: a.AdminToken, TLSClientConfig: rest.TLSClientConfig{CAFile: a.CAFile}, QPS: -1}
}

// newAccess makes the credentials of a cluster in dir, and the file that tells
// the API server of its tokens.
func newAccess(dir string, port int) (Access, error) {
	if err := writeCertificates(dir); err != nil {
		return Access{}, err
	}
	a := Access{
		URL:            fmt.Sprintf("https://127.0.0.1:%d", port),
		CAFile:         filepath.Join(dir, caCertFile),
		ClientCertFile: filepath.Join(dir, clientCertFile),
		ClientKeyFile:  filepath.Join(dir, clientKeyFile),
		AdminToken:     rand.Text(),
		PowerlessToken: rand.Text(),
	}
	tokens := fmt.Sprintf("%s,admin,admin,\"system:masters\"\n%s,powerless,powerless\n", a.AdminToken, a.PowerlessToken)
	if err := os.WriteFile(filepath.Join(dir, tokenFile), []byte(tokens), 0o600); err != nil {
		return Access{}, err
	}
	return a, nil
}

// tokenFile is the API server's --token-auth-file: token, user, uid, groups.
const tokenFile = "tokens.csv"

// writeKubeconfig writes a kubeconfig with three contexts: admin (the current
// one, by token), admin-cert (by client certificate) and powerless.
func (a Access) writeKubeconfig(file string) error {
	return os.WriteFile(file, fmt.Appendf(nil, kubeconfig,
		a.URL, a.CAFile, a.AdminToken, a.ClientCertFile, a.ClientKeyFile, a.PowerlessToken), 0o600)
}

const kubeconfig = `apiVersion: v1
kind: Config
current-context: admin
clusters:
- name: conformance
  cluster:
    server: %q
    certificate-authority: %q
contexts:
- name: admin
  context: {cluster: conformance, user: admin}
- name: admin-cert
  context: {cluster: conformance, user: admin-cert}
- name: powerless
  context: {cluster: conformance, user: powerless}
users:
- name: admin
  user:
    token: %q
- name: admin-cert
  user:
    client-certificate: %q
    client-key: %q
- name: powerless
  user:
    token: %q
`
