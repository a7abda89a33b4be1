package transport

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// KubeconfigOptions says which file, and which of its contexts.
type KubeconfigOptions struct {
	// Path of the file. If empty, the first file of the list in the KUBECONFIG
	// environment variable that exists; if that is empty too, ~/.kube/config.
	// Files are not merged.
	Path string

	// Context is the name of a context. If empty, the file's current-context.
	Context string
}

// LoadKubeconfig returns the Config of one context of a kubeconfig file. Relative
// paths in it are relative to its folder. Entries that would need a program to be
// run (exec, auth-provider) or another identity to be taken on (as) are errors, not
// ignored. The format:
// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
func LoadKubeconfig(opts KubeconfigOptions) (Config, error) {
	path, err := kubeconfigPath(opts.Path)
	if err != nil {
		return Config{}, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("kubeconfig: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Config{}, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	cfg, err := parseKubeconfig(data, dir, opts.Context)
	if err != nil {
		return Config{}, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return cfg, nil
}

func kubeconfigPath(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	if list := os.Getenv("KUBECONFIG"); list != "" {
		for _, p := range filepath.SplitList(list) {
			if _, err := os.Stat(p); err == nil {
				return p, nil
			}
		}
		return "", fmt.Errorf("kubeconfig: no file of KUBECONFIG=%s exists", list)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("kubeconfig: no path is given, KUBECONFIG is empty, and %w", err)
	}
	return filepath.Join(home, ".kube", "config"), nil
}

// kubeconfig is the part of the file that is used, and what must not be ignored.
type kubeconfig struct {
	CurrentContext string            `json:"current-context"`
	Contexts       []kubeconfigEntry `json:"contexts"`
	Clusters       []kubeconfigEntry `json:"clusters"`
	Users          []kubeconfigEntry `json:"users"`
}

// kubeconfigEntry is an entry of any of the three lists; one field is set.
type kubeconfigEntry struct {
	Name    string            `json:"name"`
	Context kubeconfigContext `json:"context"`
	Cluster kubeconfigCluster `json:"cluster"`
	User    kubeconfigUser    `json:"user"`
}

type kubeconfigContext struct {
	Cluster   string `json:"cluster"`
	User      string `json:"user"`
	Namespace string `json:"namespace"`
}

type kubeconfigCluster struct {
	Server        string `json:"server"`
	CAFile        string `json:"certificate-authority"`
	CAData        []byte `json:"certificate-authority-data"`
	Insecure      bool   `json:"insecure-skip-tls-verify"`
	TLSServerName string `json:"tls-server-name"`
	ProxyURL      string `json:"proxy-url"`
}

type kubeconfigUser struct {
	CertFile     string `json:"client-certificate"`
	CertData     []byte `json:"client-certificate-data"`
	KeyFile      string `json:"client-key"`
	KeyData      []byte `json:"client-key-data"`
	Token        string `json:"token"`
	TokenFile    string `json:"tokenFile"`
	Username     string `json:"username"`
	Password     string `json:"password"`
	Exec         any    `json:"exec"`
	AuthProvider any    `json:"auth-provider"`
	As           string `json:"as"`
}

// parseKubeconfig reads a file's bytes; dir is what its relative paths start from.
func parseKubeconfig(data []byte, dir, contextName string) (Config, error) {
	var file kubeconfig
	if err := unmarshalYAML(data, &file); err != nil {
		return Config{}, err
	}
	contextName = cmp.Or(contextName, file.CurrentContext)
	if contextName == "" {
		return Config{}, fmt.Errorf("no context is asked for and current-context is not set; %s", known("contexts", file.Contexts))
	}
	kctx, ok := find(file.Contexts, contextName)
	if !ok {
		return Config{}, fmt.Errorf("no context %q; %s", contextName, known("contexts", file.Contexts))
	}
	named := kctx.Context
	cluster, ok := find(file.Clusters, named.Cluster)
	if !ok {
		return Config{}, fmt.Errorf("context %q names the cluster %q, which is not there; %s", contextName, named.Cluster, known("clusters", file.Clusters))
	}
	if cluster.Cluster.Server == "" {
		return Config{}, fmt.Errorf("cluster %q has no server", cluster.Name)
	}
	var user kubeconfigEntry // a context without a user is an anonymous one
	if named.User != "" {
		if user, ok = find(file.Users, named.User); !ok {
			return Config{}, fmt.Errorf("context %q names the user %q, which is not there; %s", contextName, named.User, known("users", file.Users))
		}
	}
	if err := user.User.supported(); err != nil {
		return Config{}, fmt.Errorf("user %q: %w", user.Name, err)
	}
	return toConfig(named, cluster.Cluster, user.User, dir), nil
}

// supported refuses entries that ask for more than is built here.
func (u kubeconfigUser) supported() error {
	switch {
	case u.Exec != nil:
		return errors.New("credentials from a program (exec) are not supported yet: put a token into the file, such as one of `kubectl create token`")
	case u.AuthProvider != nil:
		return errors.New("auth-provider is not supported: use a token or a client certificate")
	case u.As != "":
		return errors.New("impersonation (as) is not supported yet")
	}
	return nil
}

func toConfig(kctx kubeconfigContext, cluster kubeconfigCluster, user kubeconfigUser, dir string) Config {
	under := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	return Config{
		Server:    cluster.Server,
		Namespace: kctx.Namespace,
		ProxyURL:  cluster.ProxyURL,
		TLS: TLSConfig{
			CAFile:     under(cluster.CAFile),
			CAData:     cluster.CAData,
			CertFile:   under(user.CertFile),
			CertData:   user.CertData,
			KeyFile:    under(user.KeyFile),
			KeyData:    user.KeyData,
			ServerName: cluster.TLSServerName,
			Insecure:   cluster.Insecure,
		},
		BearerToken:     user.Token,
		BearerTokenFile: under(user.TokenFile),
		Username:        user.Username,
		Password:        user.Password,
	}
}

func find(entries []kubeconfigEntry, name string) (kubeconfigEntry, bool) {
	i := slices.IndexFunc(entries, func(e kubeconfigEntry) bool { return e.Name == name })
	if i < 0 {
		return kubeconfigEntry{}, false
	}
	return entries[i], true
}

// known lists names for an error, in order.
func known(what string, entries []kubeconfigEntry) string {
	if len(entries) == 0 {
		return "the file has no " + what
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	slices.Sort(names)
	return "known " + what + ": " + strings.Join(names, ", ")
}
