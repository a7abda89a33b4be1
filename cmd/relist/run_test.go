package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli/clitest"
	"github.com/relist-go/relist/internal/must"
)

// result is the exit status and the output of a command.
type result struct {
	status         int
	stdout, stderr string
	took           time.Duration
}

// command runs the command to its end.
func command(t *testing.T, args ...string) result {
	t.Helper()
	return start(t, args...).wait()
}

// process is a command that runs.
type process struct {
	t      *testing.T
	cancel context.CancelFunc
	out    *clitest.Output
	errors *clitest.Output // stderr
	status chan int
	began  time.Time
}

// start runs the command in a goroutine. When the test ends, start checks that the
// command has ended.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{t: t, cancel: cancel, out: clitest.NewOutput(), errors: clitest.NewOutput(), status: make(chan int, 1), began: time.Now()}
	t.Cleanup(cancel)
	go func() { p.status <- run(ctx, args, p.out, p.errors) }()
	return p
}

// wait waits for the end.
func (p *process) wait() result {
	p.t.Helper()
	select {
	case status := <-p.status:
		return result{status, p.out.String(), p.errors.String(), time.Since(p.began)}
	case <-time.After(clitest.Limit):
		p.t.Fatalf("the command does not end; so far:\n%s", p.out.String())
		return result{}
	}
}

// interrupt does what a signal does, and waits for the end. It fails the test if the command goes
// on, for example because it waits for a server that does not answer, or for the end of a pause.
func (p *process) interrupt() result {
	p.t.Helper()
	p.cancel()
	return p.wait()
}

// await waits until text has been printed on stdout.
func (p *process) await(text string) {
	p.t.Helper()
	p.out.Await(p.t, text)
}

// newServer returns a server on loopback.
func newServer(t *testing.T, opts apitest.Options) (server *apitest.Server, url string) {
	t.Helper()
	server = apitest.New(opts)
	t.Cleanup(func() { _ = server.Close() })
	ln, err := server.Listen("127.0.0.1:0")
	must.OK(t, err)
	return server, ln.URL
}

func createConfigMap(t *testing.T, server *apitest.Server, namespace, name string) {
	t.Helper()
	if _, err := server.Create("configmaps", map[string]any{
		"metadata": map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{"app": name}},
	}); err != nil {
		t.Fatal(err)
	}
}

// jsonLines parses an output of which every line must be a JSON object.
func jsonLines(t *testing.T, out string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(out) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if _, err := time.Parse(time.RFC3339Nano, fields["time"].(string)); err != nil {
			t.Error(err)
		}
		lines = append(lines, fields)
	}
	return lines
}

// summaryOf returns the last line.
func summaryOf(t *testing.T, out string) map[string]any {
	t.Helper()
	lines := jsonLines(t, out)
	if len(lines) == 0 || lines[len(lines)-1]["kind"] != "summary" {
		t.Fatalf("the last line is no summary:\n%s", out)
	}
	return lines[len(lines)-1]
}

// TestMain lets the test binary be the command, for tests that need a process; and fails
// if goroutines of ours are left when all tests have ended.
func TestMain(m *testing.M) {
	if os.Getenv("RELIST_TEST_IS_COMMAND") != "" {
		main()
	}
	status := clitest.AtHome(m)
	if left := leftGoroutines(); status == 0 && left != "" {
		_, _ = io.WriteString(os.Stderr, "goroutines are left:\n"+left)
		status = 1
	}
	os.Exit(status)
}

// leftGoroutines waits for goroutines that are about to end, such as the reader of a
// connection that was just closed, and returns the stacks of those that do not end.
func leftGoroutines() string {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(5 * time.Second)
	for {
		buf := make([]byte, 1<<20)
		var left []string
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			ours := strings.Contains(stack, "relist-go/relist") || strings.Contains(stack, "net/http")
			if ours && !strings.Contains(stack, "main.leftGoroutines") && !strings.Contains(stack, "relist.leftGoroutines") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return ""
		}
		select {
		case <-ticker.C:
		case <-timeout:
			return strings.Join(left, "\n\n")
		}
	}
}
