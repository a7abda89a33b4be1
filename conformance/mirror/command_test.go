package mirror

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen. It is only spent when
// the test fails.
const patience = 2 * time.Minute

// program builds the command once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "relist-mirror-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "relist")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/relist")
	cmd.Dir = "../.." // the root module
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// line is one line of -o json, with the fields that the tests look at.
type line struct {
	Kind            string
	Type            string
	Key             string
	UID             string
	ResourceVersion string
	Inferred        bool
	Reason          string
	Class           string
	Message         string
	Seconds         float64

	Objects      int
	Digest       string
	Lists        int
	Watches      int
	Relists      int
	Tombstones   int
	SyncSeconds  float64
	CPUSeconds   float64
	PeakRSSBytes int64
}

// command is a running relist mirror.
type command struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr bytes.Buffer
	exited chan error

	mu    sync.Mutex
	lines []line
	more  chan struct{} // closed and replaced with each line
}

// start runs relist mirror, with -o json if args do not say otherwise.
func start(t *testing.T, args ...string) *command {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	c := &command{t: t, exited: make(chan error, 1), more: make(chan struct{})}
	c.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), path, append([]string{"mirror", "-o", "json"}, args...)...)
	c.cmd.Stderr = &c.stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go c.read(stdout)
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("stderr of relist mirror:\n%s", &c.stderr)
		}
	})
	return c
}

func (c *command) read(stdout io.Reader) {
	scanner := bufio.NewScanner(stdout)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			c.t.Errorf("%s: %v", scanner.Bytes(), err)
		}
		c.mu.Lock()
		c.lines = append(c.lines, l)
		close(c.more)
		c.more = make(chan struct{})
		c.mu.Unlock()
	}
	c.exited <- errors.Join(scanner.Err(), c.cmd.Wait())
}

// history returns the lines so far, and a channel that is closed when more come.
func (c *command) history() ([]line, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines[:len(c.lines):len(c.lines)], c.more
}

// await waits until the history so far satisfies holds.
func (c *command) await(what string, holds func([]line) bool) {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		lines, more := c.history()
		if holds(lines) {
			return
		}
		select {
		case <-more:
		case err := <-c.exited:
			c.t.Fatalf("%s: relist mirror ended: %v\n%s", what, err, &c.stderr)
		case <-deadline:
			c.t.Fatalf("%s: not within %v; the last lines are %+v", what, patience, lines[max(0, len(lines)-5):])
		}
	}
}

// count returns how many lines satisfy is.
func count(lines []line, is func(line) bool) int {
	n := 0
	for _, l := range lines {
		if is(l) {
			n++
		}
	}
	return n
}

func kind(word string) func(line) bool { return func(l line) bool { return l.Kind == word } }

// interrupt ends the command as Ctrl-C does, and returns its summary.
func (c *command) interrupt() line {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		c.t.Fatal(err)
	}
	select {
	case err := <-c.exited:
		if err != nil {
			c.t.Fatalf("relist mirror ended with %v\n%s", err, &c.stderr)
		}
	case <-time.After(patience):
		c.t.Fatalf("relist mirror did not end within %v of SIGINT", patience)
	}
	lines, _ := c.history()
	last := lines[len(lines)-1]
	if last.Kind != "summary" {
		c.t.Fatalf("the last line is %+v, want a summary", last)
	}
	return last
}
