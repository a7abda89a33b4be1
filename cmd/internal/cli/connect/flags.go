// Package connect finds the API server that a person means, from flags, a kubeconfig or
// the pod that the command runs in, and explains why it cannot be used.
//
// Begin with Flags.Config and Explain.
package connect

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/relist-go/relist/internal/files"
	"github.com/relist-go/relist/transport"
)

// Flags say which server, and with what credential. The zero value means the
// kubeconfig's current context.
type Flags struct {
	Kubeconfig string
	Context    string
	Server     string
	Token      string
	TokenFile  string
	CAFile     string
	Insecure   bool
	ServerName string
	CertFile   string
	KeyFile    string
	ProxyURL   string
	Cleartext  bool     // credentials may go out without TLS
	As         string   // the user as whom requests are made, instead of the one that the kubeconfig says
	AsGroups   []string // the groups that this user is in
}

// Add defines the flags. Their names are those of kubectl, where it has them.
func (f *Flags) Add(set *pflag.FlagSet) {
	set.StringVar(&f.Kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, or ~/.kube/config)")
	set.StringVar(&f.Context, "context", "", "context of the kubeconfig to use (default: its current-context)")
	set.StringVar(&f.Server, "server", "", "`URL` of the API server; unix:///run/api.sock is a socket. Without --kubeconfig and --context,\nno kubeconfig is read, so that its credentials are sent to no other server")
	set.StringVar(&f.Token, "token", "", "bearer token. Other users of the machine can see it, so prefer --token-file")
	set.StringVar(&f.TokenFile, "token-file", "", "`file` that holds the bearer token; it is read again when it changes")
	set.StringVar(&f.CAFile, "certificate-authority", "", "`file` with the certificates of the authorities that may have signed the server's")
	set.BoolVar(&f.Insecure, "insecure-skip-tls-verify", false, "accept any certificate of the server: for tests only")
	set.StringVar(&f.ServerName, "tls-server-name", "", "`name` that the server's certificate must carry (default: the host of its URL)")
	set.StringVar(&f.CertFile, "client-certificate", "", "`file` with the client's own certificate; it is read again when it changes")
	set.StringVar(&f.KeyFile, "client-key", "", "`file` with the key of --client-certificate")
	set.BoolVar(&f.Cleartext, "allow-insecure-credentials", false, "send a credential to an http:// server that is not on this machine, too")
	set.StringVar(&f.ProxyURL, "proxy-url", "", "`URL` of a proxy: http, https or socks5 (default: $HTTPS_PROXY and the like)")
	set.StringVar(&f.As, "as", "", "`user` to impersonate, if you have the right to")
	set.StringArrayVar(&f.AsGroups, "as-group", nil, "`group` that the user of --as is in; may be given several times")
}

// Check reports flags that contradict each other, or that cannot be meant.
func (f *Flags) Check() error {
	switch {
	case f.Server != "" && !isServer(f.Server):
		return fmt.Errorf("--server %s: want http://HOST:PORT or https://HOST[:PORT], or unix:///PATH", f.Server)
	case f.Token != "" && f.TokenFile != "":
		return errors.New("--token and --token-file cannot be used together")
	case f.CAFile != "" && f.Insecure:
		return errors.New("--certificate-authority and --insecure-skip-tls-verify cannot be used together")
	case (f.CertFile == "") != (f.KeyFile == ""):
		return errors.New("--client-certificate and --client-key have to be given together")
	case f.CertFile != "" && (f.Token != "" || f.TokenFile != ""):
		return errors.New("--client-certificate cannot be used together with --token or --token-file")
	case f.As == "" && len(f.AsGroups) > 0:
		return errors.New("--as-group says more about a user: name him with --as")
	}
	return nil
}

// isServer reports whether s is the base URL of a server. "localhost:8080" is not: it
// parses, with the scheme localhost.
func isServer(s string) bool {
	u, err := url.Parse(s)
	if err == nil && u.Scheme == "unix" {
		return u.Host == "" && path.IsAbs(u.Path) && u.Path != "/"
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return false
	}
	_, err = strconv.ParseUint(cmp.Or(u.Port(), "0"), 10, 16)
	return err == nil
}

// Config returns the server. What a flag says wins over the kubeconfig.
func (f *Flags) Config() (transport.Config, error) {
	cfg, err := f.base()
	if err != nil {
		return transport.Config{}, err
	}
	if f.Server != "" {
		cfg.Server = f.Server
		cfg.TLS.ServerName = "" // that of another server, as for kubectl
	}
	cfg.AllowInsecureCredentials = f.Cleartext
	if f.Token != "" || f.TokenFile != "" {
		cfg.BearerToken, cfg.BearerTokenFile = f.Token, f.TokenFile
		cfg.Username, cfg.Password, cfg.Exec = "", "", nil
	}
	if f.CertFile != "" {
		cfg.TLS.CertFile, cfg.TLS.KeyFile, cfg.TLS.CertData, cfg.TLS.KeyData = f.CertFile, f.KeyFile, nil, nil
		cfg.BearerToken, cfg.BearerTokenFile, cfg.Username, cfg.Password, cfg.Exec = "", "", "", "", nil
	}
	cfg.TLS.ServerName = cmp.Or(f.ServerName, cfg.TLS.ServerName)
	cfg.ProxyURL = cmp.Or(f.ProxyURL, cfg.ProxyURL)
	if f.As != "" {
		cfg.Impersonate = transport.Impersonation{User: f.As, Groups: f.AsGroups}
	}
	if f.CAFile != "" {
		cfg.TLS.CAFile, cfg.TLS.CAData, cfg.TLS.Insecure = f.CAFile, nil, false
	}
	if f.Insecure {
		cfg.TLS.CAFile, cfg.TLS.CAData, cfg.TLS.Insecure = "", nil, true
	}
	return cfg, f.readFiles(&cfg)
}

// readFiles tells of a file that cannot be used by the name of its flag. What is no
// regular file, such as the pipe of <(command), can be read once: it is taken as it is
// now.
func (f *Flags) readFiles(cfg *transport.Config) error {
	if f.TokenFile != "" {
		data, once, err := read(f.TokenFile)
		if err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
		if token := strings.TrimSpace(string(data)); once && f.CertFile == "" {
			if token == "" {
				return fmt.Errorf("--token-file: %s is empty", f.TokenFile)
			}
			cfg.BearerToken, cfg.BearerTokenFile = token, ""
		}
	}
	for _, file := range []struct {
		file *string
		data *[]byte
	}{{&cfg.TLS.CertFile, &cfg.TLS.CertData}, {&cfg.TLS.KeyFile, &cfg.TLS.KeyData}} {
		if *file.file == "" {
			continue
		}
		if data, once, err := read(*file.file); once && err == nil {
			*file.file, *file.data = "", data
		} // NewClient tells of a file that cannot be used
	}
	if f.CAFile == "" {
		return nil
	}
	data, once, err := read(f.CAFile)
	if err != nil {
		return fmt.Errorf("--certificate-authority: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return fmt.Errorf("--certificate-authority: %s holds no certificate in PEM", f.CAFile)
	}
	if once {
		cfg.TLS.CAFile, cfg.TLS.CAData = "", data
	}
	return nil
}

// read reads a file, and reports whether it can be read only once.
func read(path string) (data []byte, once bool, err error) {
	info, err := os.Stat(path)
	once = err == nil && !info.Mode().IsRegular()
	data, err = files.Read(path)
	return data, once, err
}

// base is the Config before flags change it.
func (f *Flags) base() (transport.Config, error) {
	switch {
	case f.Kubeconfig != "" || f.Context != "":
	case f.Server != "":
		return transport.Config{}, nil
	case os.Getenv("KUBECONFIG") == "" && !defaultExists():
		cfg, err := transport.InCluster()
		if errors.Is(err, transport.ErrNotInCluster) {
			return transport.Config{}, errors.New("no API server is named: use --kubeconfig, set KUBECONFIG, or give --server URL (~/.kube/config does not exist)")
		}
		return cfg, err
	}
	cfg, err := transport.LoadKubeconfig(transport.KubeconfigOptions{Path: f.Kubeconfig, Context: f.Context})
	var (
		noFile *fs.PathError
		shape  *json.UnmarshalTypeError
	)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.Context != "" && errors.As(err, &noFile):
		return cfg, fmt.Errorf("--context %s is one of a kubeconfig, and %s does not exist: name the file with --kubeconfig", f.Context, noFile.Path)
	case errors.Is(err, fs.ErrNotExist):
		return cfg, fmt.Errorf("%w; name another with --kubeconfig, or give --server URL", err)
	case errors.As(err, &shape) && shape.Field == "":
		return cfg, fmt.Errorf("%s is not a kubeconfig: it holds a %s, and no contexts, clusters and users", cmp.Or(f.Kubeconfig, os.Getenv("KUBECONFIG"), "~/.kube/config"), shape.Value)
	}
	return cfg, err
}

func defaultExists() bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(home, ".kube", "config"))
	return err == nil
}
