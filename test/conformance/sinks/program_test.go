package sinks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/internal/child"
)

// patience bounds every wait for something that must happen. It is only spent when a test fails.
const patience = 3 * time.Minute

// build builds the program once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "relist-copy-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "copy")
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, "./cmd/copy").CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	if shared.server != nil {
		if err := shared.server.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// line is a line that the program has printed, see cmd/copy.
type line struct {
	What    string
	Epoch   int64
	Version string
	Before  string
	List    bool
	Count   int
	Key     string
	Text    string
}

// program is a process of cmd/copy.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr bytes.Buffer // to be read after the end
	ended  chan struct{}
	err    error // of the end

	mu      sync.Mutex
	lines   []line
	more    chan struct{} // closed when there is another line
	listing bool          // the last of lines is a part of a list
}

// run starts the program.
func run(t *testing.T, args ...string) *program {
	t.Helper()
	path, err := build()
	must.OK(t, err)
	p := &program{t: t, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), path, args...), ended: make(chan struct{}), more: make(chan struct{})}
	p.cmd.SysProcAttr = child.Attributes()
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	must.OK(t, err)
	must.OK(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		for in := bufio.NewScanner(out); in.Scan(); {
			var l line
			if json.Unmarshal(in.Bytes(), &l) == nil { // a process that is killed may leave half a line
				p.note(l)
			}
		}
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			text := p.stderr.String()
			t.Logf("%v:\n%s", p.cmd.Args, text[max(0, len(text)-8000):])
		}
	})
	return p
}

func (p *program) note(l line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, l)
	switch l.What {
	case "part":
		p.listing = true
	case "opened", "relist":
		p.listing = false
	case "commit":
		p.listing = l.List && l.Version == "" // a part of a first list
	}
	close(p.more)
	p.more = make(chan struct{})
}

// so returns the lines until now, and a channel that is closed when there is another one.
func (p *program) so() ([]line, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[:len(p.lines):len(p.lines)], p.more
}

// awaitLine waits for a line, for at most d, and reports whether it has come.
func (p *program) awaitLine(d time.Duration, is func(line) bool) bool {
	limit := time.After(d)
	for seen := 0; ; {
		lines, more := p.so()
		for ; seen < len(lines); seen++ {
			if is(lines[seen]) {
				return true
			}
		}
		select {
		case <-more:
		case <-p.ended:
			if lines, _ := p.so(); len(lines) == seen {
				return false
			}
		case <-limit:
			return false
		}
	}
}

// mustSay waits for a line that has to come.
func (p *program) mustSay(what string, is func(line) bool) {
	p.t.Helper()
	if !p.awaitLine(patience, is) {
		p.t.Fatalf("the program did not get to this: %s", what)
	}
}

func opened(l line) bool { return l.What == "opened" }

// kill ends the program at once, and waits until it has ended.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}
