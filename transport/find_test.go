package transport

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// TestConnectFindsTheCluster has a kubeconfig in each place, and a pod's credentials.
func TestConnectFindsTheCluster(t *testing.T) {
	home, pod := t.TempDir(), t.TempDir()
	write := func(path, text string) string {
		t.Helper()
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	kubeconfig := func(server string) string {
		return "current-context: a\ncontexts: [{name: a, context: {cluster: a}}, {name: b, context: {cluster: b}}]\n" +
			"clusters: [{name: a, cluster: {server: 'https://" + server + "'}}, {name: b, cluster: {server: 'https://" + server + "-b'}}]"
	}
	write(filepath.Join(home, ".kube", "config"), kubeconfig("home"))
	listed, given := write(filepath.Join(home, "listed"), kubeconfig("listed")), write(filepath.Join(home, "given"), kubeconfig("given"))
	write(filepath.Join(pod, "token"), "secret")
	write(filepath.Join(pod, "ca.crt"), "")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, tt := range []struct {
		name       string
		opts       KubeconfigOptions
		kubeconfig string
		host       string
		want       string
	}{
		{"a path", KubeconfigOptions{Path: given}, listed, "10.0.0.1", "https://given"},
		{"a context", KubeconfigOptions{Context: "b"}, "", "10.0.0.1", "https://home-b"},
		{"a server", KubeconfigOptions{Server: "http://127.0.0.1:8001"}, listed, "10.0.0.1", "http://127.0.0.1:8001"},
		{"KUBECONFIG", KubeconfigOptions{}, listed, "10.0.0.1", "https://listed"},
		{"a pod", KubeconfigOptions{}, "", "10.0.0.1", "https://10.0.0.1:443"},
		{"the home", KubeconfigOptions{}, "", "", "https://home"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tt.kubeconfig)
			t.Setenv("KUBERNETES_SERVICE_HOST", tt.host)
			t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			got, err := findConfig(tt.opts, pod, os.Getenv)
			if err != nil || got.Server != tt.want {
				t.Errorf("the server is %q, want %q; error %v", got.Server, tt.want, err)
			}
		})
	}
}

func TestConnect(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "missing"))
	_, err := FromKubeconfig(KubeconfigOptions{})
	checkError(t, err, "no file of KUBECONFIG=")
	_, err = FromKubeconfig(KubeconfigOptions{Path: filepath.Join(t.TempDir(), "none")}) // and KUBECONFIG is not asked
	checkError(t, err, "kubeconfig: open ")
	_, err = FromKubeconfig(KubeconfigOptions{Server: "http://127.0.0.1:8001", Context: "b"})
	checkError(t, err, "a server was named, and a path or a context too")
	path := filepath.Join(t.TempDir(), "config")
	must.OK(t, os.WriteFile(path, []byte("current-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:8080'}}]"), 0o600))
	client, err := FromKubeconfig(KubeconfigOptions{Path: path})
	must.OK(t, err)
	defer client.Close()
	if got := client.Server(); got != "http://127.0.0.1:8080" {
		t.Errorf("the server is %q", got)
	}
}
