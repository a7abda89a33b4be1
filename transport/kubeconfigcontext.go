package transport

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// config returns the Config of one context; "" is the current one.
func (k kubeconfig) config(contextName string) (Config, error) {
	contextName = cmp.Or(contextName, k.CurrentContext)
	if contextName == "" {
		return Config{}, fmt.Errorf("no context is asked for and current-context is not set; %s", known("contexts", k.Contexts))
	}
	kctx, ok := find(k.Contexts, contextName)
	if !ok {
		return Config{}, fmt.Errorf("no context %q; %s", contextName, known("contexts", k.Contexts))
	}
	named := kctx.Context
	cluster, ok := find(k.Clusters, named.Cluster)
	if !ok {
		return Config{}, fmt.Errorf("context %q names the cluster %q, which is not there; %s", contextName, named.Cluster, known("clusters", k.Clusters))
	}
	if cluster.Cluster.Server == "" {
		return Config{}, fmt.Errorf("cluster %q has no server", cluster.Name)
	}
	user, ok := find(k.Users, named.User)
	if !ok && named.User != "" { // a context without a user is an anonymous one
		return Config{}, fmt.Errorf("context %q names the user %q, which is not there; %s", contextName, named.User, known("users", k.Users))
	}
	if c := cluster.Cluster; c.CAFile != "" && len(c.CAData) > 0 {
		return Config{}, fmt.Errorf("cluster %q has both certificate-authority and certificate-authority-data: want one of the two", cluster.Name)
	}
	cfg, err := toConfig(named, cluster.Cluster, user.User)
	if err != nil {
		return Config{}, fmt.Errorf("user %q: %w", user.Name, err)
	}
	return cfg, nil
}

// serverURL returns the URL of a server. A host and a port without a scheme are spoken to
// without TLS, as by kubectl.
func serverURL(server string) string {
	if u, err := url.Parse(server); strings.Contains(server, "://") || err == nil && u.Scheme != "" && u.Opaque == "" {
		return server
	}
	if _, port, err := net.SplitHostPort(strings.TrimSuffix(server, "/")); err != nil || !isPort(port) {
		return server // and NewClient refuses it
	}
	return "http://" + server
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

func toConfig(kctx kubeconfigContext, cluster kubeconfigCluster, user kubeconfigUser) (Config, error) {
	cfg := Config{
		Server:    serverURL(cluster.Server),
		Namespace: kctx.Namespace,
		ProxyURL:  cluster.ProxyURL,
		TLS: TLSConfig{
			CAFile:     cluster.CAFile,
			CAData:     cluster.CAData,
			CertFile:   user.CertFile,
			CertData:   user.CertData,
			KeyFile:    user.KeyFile,
			KeyData:    user.KeyData,
			ServerName: cluster.TLSServerName,
			Insecure:   cluster.Insecure,
		},
		BearerToken:     user.Token,
		BearerTokenFile: user.TokenFile,
		Username:        user.Username,
		Password:        user.Password,
		Impersonate:     Impersonation{User: user.As, UID: user.AsUID, Groups: user.AsGroups, Extra: user.AsExtra},
	}
	if cluster.Uncompressed {
		cfg.Compression = CompressionOff
	}
	if err := user.check(); err != nil {
		return cfg, err
	}
	// Neither is of any use alone, and kubectl does not look at it.
	if user.CertFile == "" && len(user.CertData) == 0 {
		cfg.TLS.KeyFile, cfg.TLS.KeyData = "", nil
	}
	if user.Username == "" {
		cfg.Password = ""
	}
	if _, err := cfg.Impersonate.header(); err != nil {
		return cfg, fmt.Errorf("as: %w", err)
	}
	if user.Exec == nil {
		return cfg, nil
	}
	program, err := user.Exec.config(cluster.Extensions)
	if err != nil {
		return cfg, fmt.Errorf("exec: %w", err)
	}
	if !user.hasCredential() {
		cfg.Exec = program
	}
	return cfg, nil
}

// check refuses what kubectl refuses, and what is not supported.
func (u kubeconfigUser) check() error {
	switch {
	case u.AuthProvider != nil:
		return u.AuthProvider.refuse()
	case u.CertFile != "" && len(u.CertData) > 0:
		return errors.New("there is both client-certificate and client-certificate-data: want one of the two")
	case u.KeyFile != "" && len(u.KeyData) > 0 && (u.CertFile != "" || len(u.CertData) > 0):
		return errors.New("there is both client-key and client-key-data: want one of the two")
	}
	return nil
}

// hasCredential reports whether the user has one without a program.
func (u kubeconfigUser) hasCredential() bool {
	return u.Token != "" || u.TokenFile != "" || u.Username != "" || u.CertFile != "" || len(u.CertData) > 0
}

// authProvider is a plugin that was compiled into kubectl, up to 1.25.
type authProvider struct {
	Name string `json:"name"`
}

// refuse says what to use instead of a provider.
func (p authProvider) refuse() error {
	instead := "a program (exec) that prints the token, or a token that somebody else renews (tokenFile)"
	switch p.Name {
	case "oidc":
		instead = "an exec plugin that logs in by OpenID Connect, such as kubelogin (https://github.com/int128/kubelogin): kubectl oidc-login setup prints the user entry"
	case "gcp":
		instead = "the exec plugin gke-gcloud-auth-plugin: gcloud container clusters get-credentials writes the user entry"
	case "azure":
		instead = "the exec plugin kubelogin (https://github.com/Azure/kubelogin): kubelogin convert-kubeconfig changes the user entry"
	case "openstack":
		instead = "the exec plugin client-keystone-auth (https://github.com/kubernetes/cloud-provider-openstack)"
	}
	return fmt.Errorf("auth-provider %q is not supported: use %s", p.Name, instead)
}
