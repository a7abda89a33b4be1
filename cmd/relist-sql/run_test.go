package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/clitest"
	"github.com/relist-go/relist/internal/must"
)

// TestMain lets the test binary be the command, for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv("RELIST_TEST_IS_COMMAND") != "" {
		main()
	}
	os.Exit(clitest.AtHome(m))
}

// homeOfUser is the home of who runs the tests.
var homeOfUser = os.Getenv("HOME")

// result is the exit status and the output of a command.
type result struct {
	status         int
	stdout, stderr string
}

// process is a command that runs.
type process struct {
	t           *testing.T
	cancel      context.CancelFunc
	out, errors *clitest.Output
	status      chan int
}

// start runs the command in a goroutine.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{t: t, cancel: cancel, out: clitest.NewOutput(), errors: clitest.NewOutput(), status: make(chan int, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.status <- run(ctx, args, p.out, p.errors)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return p
}

// startProcess runs the command in a process of its own.
func startProcess(t *testing.T, args ...string) (*exec.Cmd, *process) {
	t.Helper()
	p := &process{t: t, out: clitest.NewOutput(), errors: clitest.NewOutput()}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "RELIST_TEST_IS_COMMAND=1",
		"GORACE=atexit_sleep_ms=0") // else the race detector, where it is on, waits a second at the end
	cmd.Stdout, cmd.Stderr = p.out, p.errors
	must.OK(t, cmd.Start())
	return cmd, p
}

// command runs the command to its end.
func command(t *testing.T, args ...string) result {
	t.Helper()
	return start(t, args...).wait()
}

// wait waits for the end.
func (p *process) wait() result {
	p.t.Helper()
	select {
	case status := <-p.status:
		return result{status, p.out.String(), p.errors.String()}
	case <-time.After(clitest.Limit):
		p.t.Fatalf("the command does not end; so far:\n%s%s", p.out, p.errors)
		return result{}
	}
}

// interrupt does what a signal does, and waits for the end.
func (p *process) interrupt() result {
	p.t.Helper()
	p.cancel()
	return p.wait()
}

// world is a server, and a file for a copy of it.
type world struct {
	*testing.T
	server *apitest.Server
	url    string
	file   string

	mu    sync.Mutex
	lists int // of ConfigMaps, whole ones
}

func newWorld(t *testing.T, objects int) *world {
	t.Helper()
	w := &world{T: t, file: filepath.Join(t.TempDir(), "c.db")}
	w.server, w.url = apitest.Start(t, apitest.Options{
		BookmarkPeriod:   20 * time.Millisecond, // an idle resource is known to be whole soon
		FreshnessTimeout: 20 * time.Millisecond, // a version that the server has not come to is refused soon
		Log: func(r apitest.LoggedRequest) {
			w.mu.Lock()
			defer w.mu.Unlock()
			u, err := url.Parse(r.URI)
			if q := u.Query(); err == nil && strings.HasSuffix(u.Path, "/configmaps") && q.Get("watch") == "" && q.Get("limit") != "1" && q.Get("fieldSelector") == "" {
				w.lists++
			}
		},
	})
	w.create("namespaces", "", "kube-system", nil)
	for i := range objects {
		w.configMap(fmt.Sprintf("c%04d", i), "0")
	}
	return w
}

func (w *world) create(resource, namespace, name string, rest map[string]any) {
	w.Helper()
	object := map[string]any{"metadata": map[string]any{"namespace": namespace, "name": name, "managedFields": []any{}}}
	for k, v := range rest {
		object[k] = v
	}
	if _, err := w.server.Create(resource, object); err != nil {
		w.Fatal(err)
	}
}

func (w *world) configMap(name, value string) {
	w.Helper()
	w.create("configmaps", "a", name, map[string]any{"data": map[string]any{"value": value, "other": "x"}})
}

// listed returns how often all ConfigMaps were listed.
func (w *world) listed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lists
}

// mirror returns the command line that copies ConfigMaps to the file.
func (w *world) mirror(more ...string) []string {
	return append([]string{"mirror", "cm", "-A", "--server", w.url, "--to", "sqlite:" + w.file}, more...)
}

// once copies everything.
func (w *world) once(more ...string) result {
	w.Helper()
	r := command(w.T, w.mirror(append(more, "--once")...)...)
	if r.status != cli.ExitOK {
		w.Fatalf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	return r
}

// query returns the rows as CSV, without the line of names.
func (w *world) query(statement string) string {
	w.Helper()
	r := command(w.T, "query", w.file, "-o", "csv", statement)
	if r.status != cli.ExitOK {
		w.Fatalf("%s: status %d, %s", statement, r.status, r.stderr)
	}
	_, rows, _ := strings.Cut(strings.ReplaceAll(r.stdout, "\r\n", "\n"), "\n")
	return rows
}

// want fails the test if a query returns something else.
func (w *world) want(statement, rows string) {
	w.Helper()
	if got := w.query(statement); got != rows {
		w.Errorf("%s:\n%swant:\n%s", statement, got, rows)
	}
}
