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
		return Config{}, fmt.Errorf("no context is named, and the file has no current-context: name one; %s", known("contexts", k.Contexts))
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

// serverURL returns the URL of a server. To a host and a port without a scheme, kubectl
// speaks without TLS, and so does this.
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
		cfg.Gzip = new(false)
	}
	if err := user.check(); err != nil {
		return cfg, err
	}
	// A key without a certificate is of no use, and neither is a password without a
	// name. kubectl does not look at them.
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

// kubeconfigExec is a program that gives a credential, as a kubeconfig names it.
type kubeconfigExec struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	APIVersion         string `json:"apiVersion"`
	InstallHint        string `json:"installHint"`
	ProvideClusterInfo bool   `json:"provideClusterInfo"`
	InteractiveMode    string `json:"interactiveMode"`
}

// execExtension is the name of the extension of a cluster that is handed to programs.
const execExtension = "client.authentication.k8s.io/exec"

// config checks what kubectl checks.
func (e *kubeconfigExec) config(extensions []kubeconfigExtension) (*ExecConfig, error) {
	out := ExecConfig{
		Command:            e.Command,
		Args:               e.Args,
		APIVersion:         e.APIVersion,
		InstallHint:        e.InstallHint,
		ProvideClusterInfo: e.ProvideClusterInfo,
	}
	for _, v := range e.Env {
		if v.Name == "" {
			return nil, errors.New("env has an entry without a name")
		}
		out.Env = append(out.Env, v.Name+"="+v.Value)
	}
	for _, x := range extensions {
		if x.Name == execExtension && e.ProvideClusterInfo {
			out.ClusterConfig = x.Extension
		}
	}
	switch e.InteractiveMode {
	case "IfAvailable":
	case "Never":
		out.Interactive = new(false)
	case "Always":
		out.Interactive = new(true)
	case "":
		if e.APIVersion == execV1 { // v1beta1 has a default
			return nil, errors.New("interactiveMode is missing, which client.authentication.k8s.io/v1 requires: want Never, IfAvailable or Always")
		}
	default:
		return nil, fmt.Errorf("interactiveMode is %q: want Never, IfAvailable or Always", e.InteractiveMode)
	}
	switch {
	case e.APIVersion == "":
		return nil, fmt.Errorf("apiVersion is missing: want %s or %s", execV1, execV1beta1)
	case e.Command == "":
		return nil, errors.New("command is missing")
	}
	_, err := out.check()
	return &out, err
}
