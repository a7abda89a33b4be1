package install

import (
	"bufio"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
)

// buildSlim builds examples/slim, and fails the test if it has more bytes than limit.
func buildSlim(t *testing.T, limit int64, flags ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "slim")
	args := append([]string{"build", "-C", repository, "-o", file}, flags...)
	if out, err := exec.CommandContext(t.Context(), "go", append(args, "./examples/slim")...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	info, err := os.Stat(file)
	must.OK(t, err)
	t.Logf("%.2f MiB", float64(info.Size())/(1<<20))
	if info.Size() > limit {
		t.Errorf("the binary has %d bytes, the limit is %d", info.Size(), limit)
	}
	return file
}

// The program stays small, because it imports neither client-go nor the API's types, and
// the linker leaves out what it does not name. A program that only uses the packages under
// relist, and not relist, has 13.1 MiB (docs/performance.md).
func TestSlim(t *testing.T) {
	file := buildSlim(t, 64<<18)
	symbols, err := exec.CommandContext(t.Context(), "go", "tool", "nm", file).Output()
	if err != nil {
		t.Fatalf("go tool nm: %v", err)
	}
	for _, unwanted := range []string{"gorilla/websocket.(*Conn)", "listwatch/protobuf.Format.ReadList", " golang.org/x/net/http2.(*"} {
		if bytes.Contains(symbols, []byte(unwanted)) {
			t.Errorf("it contains %s", unwanted)
		}
	}
}

// A program can leave HTTP/2 out, and speaks HTTP/1.1 then, to a server that knows both.
func TestSlimWithoutHTTP2(t *testing.T) {
	file := buildSlim(t, 62<<18, "-tags", "nethttpomithttp2")

	api := apitest.New(apitest.Options{})
	t.Cleanup(func() { _ = api.Close() })
	protocols := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case protocols <- r.Proto:
		default: // the first request tells
		}
		api.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	if _, err := api.Create("pods", map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": "web"},
		"spec":     map[string]any{"nodeName": "node-1", "containers": []any{map[string]any{"name": "main"}}},
		"status":   map[string]any{"phase": "Running"},
	}); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a line that never comes fails the test then
	defer cancel()
	program := exec.CommandContext(ctx, file, "--kubeconfig", kubeconfig(t, server))
	stdout, err := program.StdoutPipe()
	must.OK(t, err)
	program.Stderr = os.Stderr
	must.OK(t, program.Start())
	line := bufio.NewScanner(stdout)
	if !line.Scan() || line.Text() != "+ default/web Running on node-1" {
		t.Errorf("printed %q", line.Text())
	}
	cancel()
	_ = program.Wait() // it was killed
	select {
	case got := <-protocols:
		if got != "HTTP/1.1" {
			t.Errorf("the server was spoken to in %s", got)
		}
	default:
		t.Error("the server was not spoken to")
	}
}

// kubeconfig writes a kubeconfig for a server with its own certificate.
func kubeconfig(t *testing.T, server *httptest.Server) (file string) {
	t.Helper()
	dir := t.TempDir()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must.OK(t, os.WriteFile(filepath.Join(dir, "ca.crt"), authority, 0o600))
	file = filepath.Join(dir, "config")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context: {cluster: test, user: nobody}
clusters:
- name: test
  cluster: {server: %q, certificate-authority: ca.crt}
users:
- name: nobody
`, server.URL)
	must.OK(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}
