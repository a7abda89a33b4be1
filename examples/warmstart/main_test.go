package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/relist-go/relist/apitest"
)

func configMap(name, tea string) map[string]any {
	return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}, "data": map[string]any{"tea": tea}}
}

// process is one run of the program.
type process struct {
	t     *testing.T
	lines *bufio.Scanner
	stop  context.CancelFunc
	done  chan error
}

// start runs the program in this process, with a pipe for its standard output.
func start(t *testing.T, file string) *process {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	ctx, stop := context.WithCancel(t.Context())
	p := &process{t: t, lines: bufio.NewScanner(r), stop: stop, done: make(chan error, 1)}
	go func() {
		err := run(ctx, file)
		os.Stdout = stdout
		_ = w.Close()
		p.done <- err
	}()
	return p
}

func (p *process) want(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if !p.lines.Scan() || p.lines.Text() != line {
			p.t.Errorf("printed %q, want %q; %v", p.lines.Text(), line, p.lines.Err())
		}
	}
}

func (p *process) end() {
	p.t.Helper()
	p.stop()
	if err := <-p.done; !errors.Is(err, context.Canceled) {
		p.t.Errorf("the program ended with %v", err)
	}
}

// The second run has what the first had, and gets what has happened since as events: the server is asked for one list.
func TestWarmstart(t *testing.T) {
	var lists atomic.Int64
	server, url := apitest.Start(t, apitest.Options{Log: func(r apitest.LoggedRequest) {
		if !strings.Contains(r.URI, "watch=true") && !strings.Contains(r.URI, "fieldSelector") {
			lists.Add(1)
		}
	}})
	kubeconfig, file := filepath.Join(t.TempDir(), "config"), filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(kubeconfig, []byte(`
current-context: test
contexts: [{name: test, context: {cluster: test}}]
clusters: [{name: test, cluster: {server: "`+url+`"}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	for _, name := range []string{"prices", "stock"} {
		if _, err := server.Create("configmaps", configMap(name, "3")); err != nil {
			t.Fatal(err)
		}
	}
	first := start(t, file)
	first.want("= shop prices", "= shop stock")
	if _, err := server.Update("configmaps", configMap("stock", "2")); err != nil {
		t.Fatal(err)
	}
	first.want("~ shop stock")
	first.end()

	if _, err := server.Create("configmaps", configMap("hours", "9")); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Delete("configmaps", "shop", "prices"); err != nil {
		t.Fatal(err)
	}
	second := start(t, file)
	second.want("= shop prices", "= shop stock", "+ shop hours", "- shop prices")
	second.end()
	if n := lists.Load(); n != 1 {
		t.Errorf("%d lists, want 1", n)
	}
}
