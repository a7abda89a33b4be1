package kubectl

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/test/conformance/command"
)

func TestMain(m *testing.M) { command.Main(m) }

// kubectl finds relist under the names of a plugin, runs it, and asks it for completions.
func TestRelistIsAPluginOfKubectl(t *testing.T) {
	kubectl, err := cluster.FindProgram("kubectl")
	must.OK(t, err)
	dir := t.TempDir()
	for _, name := range []string{"kubectl-relist", "kubectl_complete-relist"} {
		must.OK(t, os.Symlink(command.Path(t), filepath.Join(dir, name)))
	}
	server := apitest.New(apitest.Options{})
	listener, err := server.Listen("127.0.0.1:0")
	must.OK(t, err)
	defer server.Close()
	for _, name := range []string{"a", "b"} {
		if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "default", "name": name}}); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		args   []string
		status int
		want   string // of both outputs, or a part of it
	}{
		{[]string{"relist", "version"}, 0, "relist "},
		{[]string{"relist", "mirror"}, 2, "kubectl relist mirror: name a resource, such as pods or deployments.apps\nSee 'kubectl relist mirror --help'.\n"},
		{[]string{"relist", "mirror", "configmapz", "--server", listener.URL}, 1, "kubectl relist mirror: the server has no resource \"configmapz\"; did you mean configmaps?\n"},
		{[]string{"relist", "mirror", "configmaps", "-A", "--server", listener.URL, "--exit-on-sync"}, 0, "synced     2 objects"},
		{[]string{"__complete", "relist", "mirror", "pods", "--color", ""}, 0, "auto\nalways\nnever\n:4\n"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cmd := exec.CommandContext(ctx, kubectl, tt.args...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "KUBECONFIG="+os.DevNull, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run() // the status is compared
		cancel()
		if status := cmd.ProcessState.ExitCode(); status != tt.status || !strings.Contains(out.String(), tt.want) {
			t.Errorf("kubectl %s: status %d, printed\n%s\nwant %d, %q", strings.Join(tt.args, " "), status, out.String(), tt.status, tt.want)
		}
	}
}
