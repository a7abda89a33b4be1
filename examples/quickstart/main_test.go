package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) {
	if os.Getenv("QUICKSTART") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is the program with this kubeconfig. It is killed after a minute, so that a test that waits for a line which never comes fails then.
func program(ctx context.Context, t *testing.T, kubeconfig string) *exec.Cmd {
	t.Helper()
	ctx, kill := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(kill)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "QUICKSTART=1", "KUBECONFIG="+kubeconfig)
	return cmd
}

// kubeconfigOf writes a kubeconfig for a server, and returns its path.
func kubeconfigOf(t *testing.T, url string) string {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte(`
current-context: test
contexts: [{name: test, context: {cluster: test}}]
clusters: [{name: test, cluster: {server: "`+url+`"}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

func TestQuickstart(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	kubeconfig := kubeconfigOf(t, url)
	configMap := func(data map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "prices"}, "data": data}
	}
	if _, err := server.Create("configmaps", configMap(nil)); err != nil {
		t.Fatal(err)
	}

	cmd := program(t.Context(), t, kubeconfig)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	want := func(line string) {
		if !lines.Scan() || lines.Text() != line {
			t.Fatalf("printed %q, want %q; %v", lines.Text(), line, lines.Err())
		}
	}
	want("+ shop prices")
	if _, err := server.Update("configmaps", configMap(map[string]any{"tea": "3"})); err != nil {
		t.Fatal(err)
	}
	want("~ shop prices 0 -> 1")
	if _, err := server.Delete("configmaps", "shop", "prices"); err != nil {
		t.Fatal(err)
	}
	want("- shop prices")
	if runtime.GOOS == "windows" { // has no way to send a signal to another process
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGINT: %v", err)
	}
}

// If the program fails, its exit status says so.
func TestQuickstartFails(t *testing.T) {
	cmd := program(t.Context(), t, filepath.Join(t.TempDir(), "none"))
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "kubeconfig") {
		t.Errorf("exit status %d, %v, output %q", code, err, out)
	}
}

// If the server is away, the program says so, and goes on.
func TestQuickstartSaysWhatItWaitsFor(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	if err := server.FailNext(apitest.Failure{Verb: "list", Status: 401, Reason: "Unauthorized"}); err != nil {
		t.Fatal(err)
	}
	kubeconfig := kubeconfigOf(t, url)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cmd := program(ctx, t, kubeconfig)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for _, want := range []string{"WARN relist: failing resource=configmaps reason=denied", "INFO relist: listed resource=configmaps", "WARN relist: recovered"} {
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("printed %q, want %q; %v", lines.Text(), want, lines.Err())
		}
	}
	stop() // kills it
	_ = cmd.Wait()
}
