package record

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen. It is only spent when
// the test fails.
const patience = time.Minute

// program builds the command once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "relist-record-")
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

// recorder is a running relist record -v.
type recorder struct {
	t      *testing.T
	cmd    *exec.Cmd
	file   string
	stderr bytes.Buffer
	exited chan error

	mu   sync.Mutex
	out  []byte
	more chan struct{} // closed and replaced with each write
}

// start runs relist record.
func start(t *testing.T, args ...string) *recorder {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, file: filepath.Join(t.TempDir(), "recorded.txt"), exited: make(chan error, 1), more: make(chan struct{})}
	args = append([]string{"record", "-v", "-o", r.file}, args...)
	r.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), path, args...)
	r.cmd.Stdout, r.cmd.Stderr = r, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.exited <- r.cmd.Wait() }()
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = append(r.out, p...)
	close(r.more)
	r.more = make(chan struct{})
	return len(p), nil
}

// await waits until the conversation has each of texts after the one before it.
func (r *recorder) await(texts ...string) {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		r.mu.Lock()
		out, more := string(r.out), r.more
		r.mu.Unlock()
		text, ok := missing(out, texts)
		if ok {
			return
		}
		select {
		case <-more:
		case err := <-r.exited:
			r.t.Fatalf("%q: relist record ended: %v\n%s", text, err, &r.stderr)
		case <-deadline:
			r.t.Fatalf("%q: not within %v, in\n%s", text, patience, out)
		}
	}
}

// missing returns the first of texts that does not stand after the one before it.
func missing(out string, texts []string) (text string, ok bool) {
	for _, text := range texts {
		_, rest, found := strings.Cut(out, text)
		if !found {
			return text, false
		}
		out = rest
	}
	return "", true
}

// interrupt ends the recording as Ctrl-C does, and returns the trace.
func (r *recorder) interrupt() string {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		r.t.Fatal(err)
	}
	select {
	case err := <-r.exited:
		if err != nil {
			r.t.Fatalf("relist record ended with %v\n%s\n%s", err, &r.stderr, r.out)
		}
	case <-time.After(patience):
		r.t.Fatalf("relist record did not end within %v of SIGINT", patience)
	}
	text, err := os.ReadFile(r.file)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// replay runs relist replay on the trace, several times.
func (r *recorder) replay() {
	r.t.Helper()
	path, err := program()
	if err != nil {
		r.t.Fatal(err)
	}
	for range 5 {
		if out, err := exec.CommandContext(r.t.Context(), path, "replay", r.file).CombinedOutput(); err != nil {
			r.t.Fatalf("%v\n%s", err, out)
		}
	}
}
