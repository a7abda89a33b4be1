// Package program runs the examples as what they are, programs: for their tests.
package program

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/transport"
)

// variable makes a test binary the program.
const variable = "EXAMPLE"

// Main is what a TestMain calls, so that the test binary can be the program.
func Main(m *testing.M, main func()) {
	if os.Getenv(variable) != "" {
		main()
		os.Exit(0)
	}
	m.Run()
}

// Must returns a function that ends the test if a write of the server fails.
func Must(t *testing.T) func(resourceVersion string, err error) {
	return func(_ string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Kubeconfig writes a kubeconfig for a server, and returns its path.
func Kubeconfig(t *testing.T, url string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(`
current-context: test
contexts: [{name: test, context: {cluster: test}}]
clusters: [{name: test, cluster: {server: "`+url+`"}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Process is the program in a process of its own.
type Process struct {
	*exec.Cmd

	t     *testing.T
	lines *bufio.Scanner
	kill  context.CancelFunc
}

// New returns a process that has not started. It is killed after a minute, so that a test that
// waits for a line which never comes fails then. The path of the kubeconfig may be empty.
func New(t *testing.T, kubeconfig string, args ...string) *Process {
	t.Helper()
	ctx, kill := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(kill)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), variable+"=1", "KUBECONFIG="+kubeconfig)
	return &Process{Cmd: cmd, t: t, kill: kill}
}

// Begin starts the process. Line reads from the pipe, which is StdoutPipe or StderrPipe of the
// process.
func (p *Process) Begin(pipe func() (io.ReadCloser, error)) {
	p.t.Helper()
	out, err := pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	if err := p.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// Line returns the next line, and ends the test if there is none.
func (p *Process) Line() string {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatalf("no more lines: %v", p.lines.Err())
	}
	return p.lines.Text()
}

// Want ends the test if the next line is another one.
func (p *Process) Want(line string) {
	p.t.Helper()
	if got := p.Line(); got != line {
		p.t.Fatalf("printed %q, want %q", got, line)
	}
}

// Kill kills the process.
func (p *Process) Kill() {
	p.kill()
	_ = p.Wait() // it was killed
}

// Interrupt ends the process as Ctrl-C does. It must end well.
func (p *Process) Interrupt() {
	p.t.Helper()
	if runtime.GOOS == "windows" { // has no way to send a signal to another process
		p.Kill()
		return
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		p.t.Errorf("after SIGINT: %v", err)
	}
}

// Fails runs the process, which must fail and say why.
func (p *Process) Fails(why string) {
	p.t.Helper()
	out, err := p.CombinedOutput()
	if code := p.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), why) {
		p.t.Errorf("%q: exit status %d, %v, output %q, want %q", p.Args[1:], code, err, out, why)
	}
}

// InMemory starts the program's function run in a bubble, against a server in memory. end stops it,
// and fails the test if it has printed anything else than what is wanted.
func InMemory(t *testing.T, to *apitest.Listener, run func(context.Context, transport.Config, io.Writer) error) (end func(want string)) {
	var out bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, transport.Config{Server: to.URL, Dial: to.Dial}, &out) }()
	synctest.Wait()
	return func(want string) {
		t.Helper()
		synctest.Wait()
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if out.String() != want {
			t.Errorf("got:\n%swant:\n%s", out.String(), want)
		}
	}
}
