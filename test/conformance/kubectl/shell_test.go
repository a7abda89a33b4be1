package kubectl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/conformance/cluster"
)

// patience is how long one command may take. It is only spent when a test fails.
const patience = 2 * time.Minute

// A shell runs kubectl against one server.
type shell struct {
	kubectl string
	home    string   // where kubectl caches discovery
	connect []string // flags that name the server
}

func newShell(t *testing.T, connect ...string) *shell {
	t.Helper()
	path, err := cluster.FindProgram("kubectl")
	must.OK(t, err)
	return &shell{kubectl: path, home: t.TempDir(), connect: connect}
}

func (s *shell) command(ctx context.Context, stdin string, args []string) *exec.Cmd {
	// Flags go last: kubectl takes a flag before its command for the name of a plugin.
	cmd := exec.CommandContext(ctx, s.kubectl, append(args[:len(args):len(args)], s.connect...)...)
	cmd.Env = append(os.Environ(), "HOME="+s.home, "KUBECONFIG="+os.DevNull)
	cmd.Stdin = strings.NewReader(stdin)
	return cmd
}

// run runs one command to its end and returns what it printed, without what differs
// from one server and one moment to the next.
func (s *shell) run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := s.command(ctx, stdin, args).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("did not end within %v:\n%s", patience, out)
	case errors.As(err, &exit):
		return normal(string(out)) + fmt.Sprintf("exit status %d\n", exit.ExitCode())
	case err != nil:
		t.Fatalf("run kubectl %s: %v", strings.Join(args, " "), err)
	}
	return normal(string(out))
}

var (
	// ages are at the ends of lines, or in a column: 5s, 2m10s.
	ages = regexp.MustCompile(`(?m) +(\d+[smh])+($| {2,})`)
	gaps = regexp.MustCompile(` {2,}`)
	// fields of an object that each server fills by itself.
	ownFields = regexp.MustCompile(`(?m)^ *(uid|resourceVersion|creationTimestamp): .*\n`)
)

func normal(out string) string {
	out = ownFields.ReplaceAllString(out, "")
	out = ages.ReplaceAllString(out, "  AGE$2")
	// The width of a column depends on the ages in it. Indentation stays.
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		lines[i] = line[:len(line)-len(text)] + gaps.ReplaceAllString(text, "  ")
	}
	return strings.Join(lines, "\n")
}

// A process is a kubectl that has been started, and not waited for.
type process struct {
	cmd      *exec.Cmd
	lines    chan string
	problems *strings.Builder // what it has printed on stderr, once lines is closed
}

// start starts a command that goes on, such as get -w. The command ends with the test.
func (s *shell) start(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &process{cmd: s.command(ctx, "", args), lines: make(chan string), problems: new(strings.Builder)}
	out, err := r.cmd.StdoutPipe()
	must.OK(t, err)
	problems, err := r.cmd.StderrPipe()
	must.OK(t, err)
	must.OK(t, r.cmd.Start())
	go func() {
		defer close(r.lines)
		defer func() { _, _ = io.Copy(r.problems, problems) }() // it is short, and does not fill the pipe
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			select {
			case r.lines <- normal(scanner.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		for range r.lines { // until the reader has ended, as Wait asks for
		}
		_ = r.cmd.Wait() // it was killed, or has been waited for
		if t.Failed() {
			t.Logf("kubectl %s, on stderr: %s", strings.Join(args, " "), r.problems)
		}
	})
	return r
}

// next waits for the next line on stdout.
func (r *process) next() string {
	select {
	case line, ok := <-r.lines:
		if !ok {
			return "(ended)"
		}
		return line
	case <-time.After(patience):
		return fmt.Sprintf("(nothing within %v)", patience)
	}
}
