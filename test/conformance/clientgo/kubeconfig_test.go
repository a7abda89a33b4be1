package clientgo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport"
)

// access is what a kubeconfig says, in terms that both can be put in.
type access struct {
	Server, CAFile, ServerName, Proxy string
	Insecure                          bool
	CertFile, KeyFile, CertData       string
	Token, TokenFile, User, Password  string
	Namespace                         string
	As, AsUID                         string
	AsGroups                          []string
	AsExtra                           map[string][]string
	Command, Mode, ClusterConfig      string
	Args, Env                         []string
}

func ours(name string) (access, error) {
	c, err := transport.LoadKubeconfig(transport.KubeconfigOptions{Context: name})
	if err != nil {
		return access{}, err
	}
	a := access{
		Server: c.Server, CAFile: c.TLS.CAFile, ServerName: c.TLS.ServerName, Proxy: c.ProxyURL, Insecure: c.TLS.Insecure,
		CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile, CertData: string(c.TLS.CertData),
		Token: c.BearerToken, TokenFile: c.BearerTokenFile, User: c.Username, Password: c.Password, Namespace: c.Namespace,
		As: c.Impersonate.User, AsUID: c.Impersonate.UID, AsGroups: c.Impersonate.Groups, AsExtra: c.Impersonate.Extra,
	}
	if a.Namespace == "" {
		a.Namespace = "default"
	}
	if e := c.Exec; e != nil {
		a.Command, a.Mode, a.Args, a.Env, a.ClusterConfig = e.Command, "IfAvailable", e.Args, e.Env, string(e.ClusterConfig)
		if e.Interactive != nil {
			a.Mode = map[bool]string{false: "Never", true: "Always"}[*e.Interactive]
		}
	}
	return a, nil
}

func theirs(name string) (access, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{CurrentContext: name})
	c, err := loader.ClientConfig()
	if err != nil {
		return access{}, err
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return access{}, err
	}
	if name == "" {
		name = raw.CurrentContext
	}
	cluster := raw.Clusters[raw.Contexts[name].Cluster]
	a := access{
		Server: c.Host, CAFile: c.CAFile, ServerName: c.ServerName, Proxy: cluster.ProxyURL, Insecure: c.Insecure,
		CertFile: c.CertFile, KeyFile: c.KeyFile, CertData: string(c.CertData),
		Token: c.BearerToken, TokenFile: c.BearerTokenFile, User: c.Username, Password: c.Password,
		As: c.Impersonate.UserName, AsUID: c.Impersonate.UID, AsGroups: c.Impersonate.Groups, AsExtra: c.Impersonate.Extra,
	}
	if len(a.AsExtra) == 0 {
		a.AsExtra = nil
	}
	a.Namespace, _, err = loader.Namespace()
	if e := c.ExecProvider; e != nil && !hasCredential(c) {
		a.Command, a.Mode, a.Args = e.Command, string(e.InteractiveMode), e.Args
		for _, v := range e.Env {
			a.Env = append(a.Env, v.Name+"="+v.Value)
		}
		if e.ProvideClusterInfo {
			a.ClusterConfig = extension(cluster)
		}
	}
	return a, err
}

// hasCredential is when rest does not run the program.
func hasCredential(c *rest.Config) bool {
	return rest.IsConfigTransportTLS(*c) && (c.CertFile != "" || len(c.CertData) > 0) || c.BearerToken != "" || c.BearerTokenFile != "" || c.Username != ""
}

func extension(cluster *clientcmdapi.Cluster) string {
	unknown, ok := cluster.Extensions["client.authentication.k8s.io/exec"]
	if !ok {
		return ""
	}
	return string(unknown.(*runtime.Unknown).Raw)
}

// TestKubeconfigs gives lists of random files to both loaders: what they make of them is
// the same, merged or refused. One thing is meant to differ: a context that names a user
// who is not there is an error, where clientcmd goes on without a credential, to be told
// 403 by the server.
func TestKubeconfigs(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	agreed, refused, noUser := 0, 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1)) // the same numbers in each run
		dir := t.TempDir()
		var list []string
		for i := range 1 + r.IntN(3) {
			path := filepath.Join(dir, fmt.Sprintf("d%d", i), "config")
			must.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
			// What is named below has to exist for clientcmd.
			for _, name := range []string{"ca.crt", "me.crt", "me.key", "token"} {
				must.OK(t, os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(name), 0o600))
			}
			must.OK(t, os.WriteFile(path, []byte(randomKubeconfig(r)), 0o600))
			list = append(list, path)
			if r.IntN(4) == 0 {
				list = append(list, filepath.Join(dir, "missing"), "")
			}
		}
		t.Setenv("KUBECONFIG", strings.Join(list, string(filepath.ListSeparator)))
		for _, name := range []string{"", "a", "b"} {
			got, err := ours(name)
			want, wantErr := theirs(name)
			switch {
			case err != nil && strings.Contains(err.Error(), "names the user"):
				noUser++
			case (err == nil) != (wantErr == nil):
				t.Errorf("seed %d, context %q: we say %v, clientcmd says %v", seed, name, err, wantErr)
			case err != nil:
				refused++
			case !cmp.Equal(got, want):
				t.Errorf("seed %d, context %q (-clientcmd +ours):\n%s", seed, name, cmp.Diff(want, got))
			default:
				agreed++
			}
		}
	}
	t.Logf("%d contexts are the same, %d are refused by both, %d name a user who is not there", agreed, refused, noUser)
	if agreed < 500 || refused < 200 || noUser > 200 {
		t.Error("that shows too little")
	}
}

// randomKubeconfig has some of few names, so that files clash.
func randomKubeconfig(r *rand.Rand) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	maybe := func(format string, args ...any) {
		if r.IntN(3) == 0 {
			line(format, args...)
		}
	}
	pick := func() string { return string("ab"[r.IntN(2)]) }
	if r.IntN(2) == 0 {
		line("current-context: %s", pick())
	}
	line("contexts:")
	for _, name := range []string{"a", "b"} {
		if r.IntN(3) > 0 {
			line("- name: %s\n  context:\n    cluster: %s\n    user: %s", name, pick(), pick())
			maybe("    namespace: n%d", r.IntN(9))
		}
	}
	line("clusters:")
	for _, name := range []string{"a", "b"} {
		if r.IntN(4) == 0 {
			continue
		}
		line("- name: %s\n  cluster:\n    server: https://host%d:6443", name, r.IntN(9))
		maybe("    tls-server-name: name%d", r.IntN(9))
		maybe("    proxy-url: http://proxy%d:3128", r.IntN(9))
		switch r.IntN(4) {
		case 0:
			line("    certificate-authority: ca.crt")
		case 1:
			line("    insecure-skip-tls-verify: true")
		}
		maybe("    extensions:\n    - name: client.authentication.k8s.io/exec\n      extension: {\"audience\":\"x\"}")
	}
	line("users:")
	for _, name := range []string{"a", "b"} {
		if r.IntN(4) == 0 {
			continue
		}
		line("- name: %s\n  user:\n    unknown: 1", name)
		switch r.IntN(6) {
		case 0:
			line("    token: t%d", r.IntN(9))
		case 1:
			line("    username: u%d\n    password: p", r.IntN(9))
		case 2:
			line("    client-certificate: me.crt\n    client-key: me.key")
		case 3:
			line("    client-certificate-data: Y2VydA==\n    client-key-data: a2V5")
		}
		if r.IntN(3) == 0 {
			versions := []string{"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}
			line("    exec:\n      command: %s\n      apiVersion: %s", []string{"aws", "./aws", "../bin/aws", "/bin/aws"}[r.IntN(4)], versions[r.IntN(2)])
			maybe("      args: [a, \"b c\"]")
			maybe("      env: [{name: A, value: b=c}, {name: B, value: \"\"}]")
			maybe("      provideClusterInfo: true")
			line("      interactiveMode: %s", []string{"Never", "IfAvailable", "Always"}[r.IntN(3)])
		}
		if r.IntN(3) == 0 {
			if r.IntN(4) > 0 {
				line("    as: jane%d", r.IntN(9))
			}
			maybe("    as-uid: \"%d\"", r.IntN(9))
			maybe("    as-groups: [g%d, h]", r.IntN(9))
			maybe("    as-user-extra: {scopes: [view, edit]}")
		}
	}
	return b.String()
}
