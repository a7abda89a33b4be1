package transport

import (
	"cmp"
	"errors"
	"fmt"
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
	var user kubeconfigEntry // a context without a user is an anonymous one
	if named.User != "" {
		if user, ok = find(k.Users, named.User); !ok {
			return Config{}, fmt.Errorf("context %q names the user %q, which is not there; %s", contextName, named.User, known("users", k.Users))
		}
	}
	cfg, err := toConfig(named, cluster.Cluster, user.User)
	if err != nil {
		return Config{}, fmt.Errorf("user %q: %w", user.Name, err)
	}
	return cfg, nil
}

func toConfig(kctx kubeconfigContext, cluster kubeconfigCluster, user kubeconfigUser) (Config, error) {
	cfg := Config{
		Server:    cluster.Server,
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
	if user.AuthProvider != nil {
		return cfg, errors.New("auth-provider is not supported: use a token, a client certificate or a program (exec)")
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

// hasCredential reports whether the user has one without a program.
func (u kubeconfigUser) hasCredential() bool {
	return u.Token != "" || u.TokenFile != "" || u.Username != "" || u.Password != "" ||
		u.CertFile != "" || len(u.CertData) > 0
}
