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
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/examples/internal/program"
)

func configMap(name, tea string) map[string]any {
	return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}, "data": map[string]any{"tea": tea}}
}

// process is one run of the program.
type process struct {
	t     *testing.T
	out   *os.File
	lines *bufio.Scanner
	stop  context.CancelFunc
	ended chan struct{}
	err   error // set before ended is closed
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
	p := &process{t: t, out: r, lines: bufio.NewScanner(r), stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.err = run(ctx, file)
		os.Stdout = stdout
		_ = w.Close()
	}()
	t.Cleanup(func() { // if the test has failed
		stop()
		<-p.ended
	})
	return p
}

func (p *process) want(lines ...string) {
	p.t.Helper()
	if err := p.out.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		p.t.Fatal(err)
	}
	for _, line := range lines {
		if !p.lines.Scan() || p.lines.Text() != line {
			p.t.Fatalf("printed %q, want %q; %v", p.lines.Text(), line, p.lines.Err())
		}
	}
}

func (p *process) end() {
	p.t.Helper()
	p.stop()
	<-p.ended
	if !errors.Is(p.err, context.Canceled) {
		p.t.Errorf("the program ended with %v", p.err)
	}
}

// The second run has what the first had, and gets what has happened since as events: the server is
// asked for one list.
func TestWarmstart(t *testing.T) {
	var lists atomic.Int64
	server, url := apitest.Start(t, apitest.Options{Log: func(r apitest.LoggedRequest) {
		if !strings.Contains(r.URI, "watch=true") && !strings.Contains(r.URI, "fieldSelector") {
			lists.Add(1)
		}
	}})
	file, must := filepath.Join(t.TempDir(), "copy"), program.Must(t)
	t.Setenv("KUBECONFIG", program.Kubeconfig(t, url))
	for _, name := range []string{"prices", "stock"} {
		must(server.Create("configmaps", configMap(name, "3")))
	}
	first := start(t, file)
	first.want("= shop prices", "= shop stock")
	must(server.Update("configmaps", configMap("stock", "2")))
	first.want("~ shop stock")
	first.end()

	must(server.Create("configmaps", configMap("hours", "9")))
	must(server.Delete("configmaps", "shop", "prices"))
	// The program prints the copy before the server has answered. Once it has printed an object, it
	// also prints its deletion.
	server.Stall()
	second := start(t, file)
	second.want("= shop prices", "= shop stock")
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	second.want("+ shop hours", "- shop prices")
	second.end()
	if n := lists.Load(); n != 1 {
		t.Errorf("%d lists, want 1", n)
	}
}
