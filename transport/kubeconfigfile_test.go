package transport

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relist-go/relist/internal/must"
)

// TestKubeconfigMerge has three files, of which each has something that the others
// have too. https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
func TestKubeconfigMerge(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	one := write("one/config", `
contexts: [{name: red, context: {cluster: c1, user: u1, namespace: n1}}]
users: [{name: u1, user: {client-certificate: me.crt}}]
`)
	two := write("two/config", `
current-context: blue
contexts:
- {name: red, context: {cluster: c2, user: u2, namespace: n2}}
- {name: blue, context: {cluster: c1, user: u2}}
clusters: [{name: c1, cluster: {server: "https://two", certificate-authority: ca.crt}}]
users: [{name: u1, user: {client-key: me.key, token: two}}, {name: u2, user: {tokenFile: ../token}}]
`)
	three := write("three/config", `
current-context: red
clusters: [{name: c1, cluster: {server: "https://three", proxy-url: "http://three"}}, {name: c2, cluster: {server: "https://c2"}}]
users: [{name: u2, user: {exec: {command: x}}}]
`)
	broken, missing := write("broken", "users: swordfish"), filepath.Join(dir, "missing")

	red := Config{Server: "https://two", Namespace: "n1", TLS: TLSConfig{
		CAFile:   filepath.Join(dir, "two/ca.crt"),
		CertFile: filepath.Join(dir, "one/me.crt"), // and no key: an entry is taken whole
	}}
	blue := Config{Server: "https://two", BearerTokenFile: filepath.Join(dir, "token"), TLS: TLSConfig{CAFile: filepath.Join(dir, "two/ca.crt")}}
	for _, tt := range []struct {
		name, list, context string
		want                Config
		wantErr             string
	}{
		{"the first has the context", one + ":" + two + ":" + three, "red", red, ""},
		{"the second has the current context", one + ":" + two + ":" + three, "", blue, ""},
		{"the order counts", three + ":" + two, "", Config{Server: "https://c2", Namespace: "n2"}, `user "u2": exec: apiVersion is missing`},
		{"missing files and empty names are skipped", missing + "::" + one + ":" + missing + ":" + two + ":" + one, "red", red, ""},
		{"a file alone lacks something", one, "red", Config{}, "kubeconfig " + one + `: context "red" names the cluster "c1", which is not there; the file has no clusters`},
		{"a broken file", one + ":" + broken + ":" + two, "red", Config{}, "kubeconfig " + broken + ": yaml: line 1: users is of the wrong type"},
		{"all names in errors", one + ":" + two, "green", Config{}, "kubeconfig " + one + ":" + two + `: no context "green"; known contexts: blue, red`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tt.list)
			got, err := LoadKubeconfig(KubeconfigOptions{Context: tt.context})
			checkError(t, err, tt.wantErr)
			if err != nil {
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Setenv("KUBECONFIG", ":"+missing)
		_, err := LoadKubeconfig(KubeconfigOptions{})
		checkError(t, err, "no file of KUBECONFIG=:"+missing+" exists")
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v is not fs.ErrNotExist", err)
		}
	})
}

func TestKubeconfigNamesAreUnique(t *testing.T) {
	for _, list := range []string{"contexts", "clusters", "users"} {
		_, err := parseKubeconfig([]byte(list+": [{name: a}, {name: b}, {name: a}]"), "/dir", "")
		checkError(t, err, list+` has two entries "a"`)
	}
}

func TestKubeconfigImpersonation(t *testing.T) {
	const rest = "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://x'}}]\nusers:\n- name: u\n  user: "
	got, err := parseKubeconfig([]byte(rest+"{as: jane, as-uid: '7', as-groups: [dev, ops], as-user-extra: {scopes: [view, edit]}}"), "/dir", "")
	checkError(t, err, "")
	want := Config{Server: "https://x", Impersonate: Impersonation{
		User: "jane", UID: "7", Groups: []string{"dev", "ops"}, Extra: map[string][]string{"scopes": {"view", "edit"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = parseKubeconfig([]byte(rest+"{as-groups: [dev]}"), "/dir", "")
	checkError(t, err, `user "u": as: Impersonate has a UID, groups or extra attributes, but no User`)
}

func TestKubeconfigExec(t *testing.T) {
	const head = `
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters:
- name: c
  cluster:
    server: https://x
    extensions:
    - {name: other, extension: {a: 1}}
    - {name: client.authentication.k8s.io/exec, extension: {audience: "06e3fbd18de8"}}
users:
- name: u
  user:
    exec:
`
	parse := func(exec ...string) (Config, error) {
		return parseKubeconfig([]byte(head+"      "+strings.Join(exec, "\n      ")+"\n"), "/dir", "")
	}
	const v1, v1beta1, never = "apiVersion: client.authentication.k8s.io/v1", "apiVersion: client.authentication.k8s.io/v1beta1", "interactiveMode: Never"
	for _, tt := range []struct {
		name    string
		exec    []string
		want    ExecConfig
		wantErr string
	}{
		{
			"everything",
			[]string{"command: aws", v1, "interactiveMode: Always", "args: [eks, get-token]", "env: [{name: A, value: b=c}, {name: B}]", "installHint: get it", "provideClusterInfo: true"},
			ExecConfig{
				Command: "aws", APIVersion: execV1, Interactive: new(true), Args: []string{"eks", "get-token"},
				Env: []string{"A=b=c", "B="}, InstallHint: "get it", ProvideClusterInfo: true, ClusterConfig: []byte(`{"audience":"06e3fbd18de8"}`),
			},
			"",
		},
		{"below the folder", []string{"command: ./bin/aws", v1, never}, ExecConfig{Command: "/dir/bin/aws", APIVersion: execV1, Interactive: new(false)}, ""},
		{"above the folder", []string{"command: ../aws", v1, never}, ExecConfig{Command: "/aws", APIVersion: execV1, Interactive: new(false)}, ""},
		{"absolute", []string{"command: /bin/aws", v1, never}, ExecConfig{Command: "/bin/aws", APIVersion: execV1, Interactive: new(false)}, ""},
		{"the older version has a default", []string{"command: aws", v1beta1}, ExecConfig{Command: "aws", APIVersion: execV1beta1}, ""},
		{"the newer has none", []string{"command: aws", v1}, ExecConfig{}, `user "u": exec: interactiveMode is missing`},
		{"unknown mode", []string{"command: aws", v1, "interactiveMode: sometimes"}, ExecConfig{}, `interactiveMode is "sometimes"`},
		{"no command", []string{v1, never}, ExecConfig{}, "command is missing"},
		{"no version", []string{"command: aws", never}, ExecConfig{}, "apiVersion is missing"},
		{"too old a version", []string{"command: aws", "apiVersion: client.authentication.k8s.io/v1alpha1"}, ExecConfig{}, `the program of Exec speaks "client.authentication.k8s.io/v1alpha1"`},
		{"a variable without a name", []string{"command: aws", v1, never, "env: [{value: x}]"}, ExecConfig{}, "env has an entry without a name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.exec...)
			checkError(t, err, tt.wantErr)
			if err != nil {
				return
			}
			if diff := cmp.Diff(&tt.want, got.Exec); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	// As kubectl does, a credential that is there already is used, and no program run.
	for _, other := range []string{"token: t", "tokenFile: t", "username: t", "client-certificate: t", "client-certificate-data: dA=="} {
		got, err := parseKubeconfig([]byte(head+"      command: aws\n      "+v1beta1+"\n    "+other+"\n"), "/dir", "")
		checkError(t, err, "")
		if got.Exec != nil {
			t.Errorf("%s: the program would be run", other)
		}
	}
}
