package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// StartAPIServer starts the API server again after KillAPIServer: the same port,
// certificates and credentials, an empty watch cache. It returns when the server
// says that it is ready and has made the namespace default.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	in := func(name string) string { return filepath.Join(c.dir, name) }
	args := append([]string{
		"--etcd-servers=" + c.etcdURL,
		"--etcd-compaction-interval=0", // Compact does it, when a test says so
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // nobody asks for the kubernetes Service
		"--secure-port=" + strconv.Itoa(c.apiPort),
		"--cert-dir=" + c.dir,
		"--tls-cert-file=" + in(servingCertFile),
		"--tls-private-key-file=" + in(servingKeyFile),
		"--client-ca-file=" + in(caCertFile),
		"--token-auth-file=" + in(tokenFile),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + in(accountKeyFile),
		"--service-account-signing-key-file=" + in(accountKeyFile),
		"--disable-admission-plugins=ServiceAccount", // no controller makes the accounts that Pods would need
	}, c.opts.APIServerFlags...)
	return c.start(ctx, &c.apiServer, "kube-apiserver", args, func(ctx context.Context) error {
		if err := c.get(ctx, "/readyz"); err != nil {
			return err
		}
		return c.get(ctx, "/api/v1/namespaces/default")
	})
}

// KillAPIServer kills the API server as a crash would: every connection to it is
// reset, and until StartAPIServer new ones are refused.
func (c *Cluster) KillAPIServer() error { return c.kill(&c.apiServer) }

// get sends a GET as the administrator, and wants 200.
func (c *Cluster) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.access.URL+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.access.AdminToken)
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 2048))
	if err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", path, resp.Status, body)
	}
	return nil
}

// HTTPClient returns a client that trusts the server's certificate, and sends no credentials.
// Its connections end with those of the caller's making, not with the cluster.
func (a Access) HTTPClient() (*http.Client, error) {
	pem, err := os.ReadFile(a.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the cluster's authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read the cluster's authority: %s holds no certificate", a.CAFile)
	}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}}, nil
}
