// Package command builds the relist command and runs it as a user would.
package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// patience bounds every wait for something that must happen: after several kills in a
// row the backoff alone may take a minute, twice. It is only spent when a test fails.
const patience = 5 * time.Minute

// build builds the command once for all tests of a package.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "relist-command-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "relist")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/relist")
	cmd.Dir = "../../.." // the root module
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// Main is the TestMain of a package that runs the command.
func Main(m *testing.M) {
	code := m.Run()
	if path, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// Path returns where the command is.
func Path(t testing.TB) string {
	t.Helper()
	path, err := build()
	must.OK(t, err)
	return path
}

// Command is a running relist.
type Command struct {
	t      testing.TB
	cmd    *exec.Cmd
	stderr output
	stdout output
	exited chan error
}

// Start runs relist with args. It is killed at the end of the test, if it still runs.
func Start(t testing.TB, args ...string) *Command {
	t.Helper()
	c := &Command{t: t, exited: make(chan error, 1)}
	c.stdout.more, c.stderr.more = make(chan struct{}), make(chan struct{})
	c.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), Path(t), args...)
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	must.OK(t, c.cmd.Start())
	go func() { c.exited <- c.cmd.Wait() }()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		if stderr, _ := c.stderr.so(); t.Failed() && len(stderr) > 0 {
			t.Logf("stderr of %q:\n%s", args, stderr)
		}
	})
	return c
}

// PID returns the number of the process.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// Stdout returns what was printed so far. It is not to be changed.
func (c *Command) Stdout() []byte {
	out, _ := c.stdout.so()
	return out
}

// Stderr is Stdout of the other output.
func (c *Command) Stderr() []byte {
	out, _ := c.stderr.so()
	return out
}

// Await waits until what was printed so far satisfies holds. If it never does, the
// test ends with what the function returns then.
func (c *Command) Await(holds func(stdout []byte) (missing string, ok bool)) {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		out, more := c.stdout.so()
		missing, ok := holds(out)
		if ok {
			return
		}
		select {
		case <-more:
		case err := <-c.exited:
			c.t.Fatalf("%s: relist ended: %v", missing, err)
		case <-deadline:
			c.t.Fatalf("%s: not within %v; the last of the output is\n%s", missing, patience, out[max(0, len(out)-4<<10):])
		}
	}
}

// Interrupt ends the command as Ctrl-C does. It must end well.
func (c *Command) Interrupt() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		c.t.Fatal(err)
	}
	select {
	case err := <-c.exited:
		if err != nil {
			c.t.Fatalf("relist ended with %v", err)
		}
	case <-time.After(patience):
		c.t.Fatalf("relist did not end within %v of SIGINT", patience)
	}
}

// Kill ends the command as the kernel does if there is no memory, and waits until it is gone.
func (c *Command) Kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	if err := <-c.exited; err == nil {
		c.t.Error("relist ended by itself before it was killed")
	}
}

// output is what a process has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and replaced with each write
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.text.Write(p)
}

// so returns the text so far, and a channel that is closed when more comes. What is
// written later does not change the text: it is only ever added to.
func (o *output) so() ([]byte, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.text.Bytes()
	return text[:len(text):len(text)], o.more
}
