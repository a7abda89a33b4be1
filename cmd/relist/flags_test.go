package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/cli"
)

// An error for a flag says which values the flag accepts, and not how the parser failed.
func TestFlagErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"mirror pods --for 0", "--for 0: want a positive time, such as 90s"},
		{"mirror pods --for 0s", "--for 0s: want a positive time, such as 90s"},
		{"record pods --for -1s -o f", "--for -1s: want a positive time, such as 90s"},
		{"mirror pods --page-size x", "--page-size x: want a whole number"},
		{"mirror pods --exit-on-sync=maybe", "--exit-on-sync maybe: want true or false"},
		{"mirror pods --resync soon", "--resync soon: want a time, such as 90s"},
		{"serve --rate x", "--rate x: want a number"},
		{"mirror pods -n a/b", "-n a/b: want the name of one namespace"},
		{"mirror pods -n ..", "-n ..: want the name of one namespace"},
		{"mirror pods -n Web", "-n Web: want the name of one namespace"},
		{"record pods -o f -n a/b", "-n a/b: want the name of one namespace"},
		{"mirror pods --server localhost", "--server localhost: want http://HOST:PORT or https://HOST[:PORT]"},
		{"mirror pods --server 127.0.0.1:43967", "--server 127.0.0.1:43967: want http://HOST:PORT or https://HOST[:PORT]"},
		{"mirror pods --transport ws", "--transport ws: want http or websocket"},
		{"completion foo", `unknown shell "foo": want bash, fish, powershell or zsh`},
	} {
		r := command(t, strings.Fields(tt.args)...)
		name, _, _ := strings.Cut(tt.args, " ")
		if r.status != cli.ExitUsage || !strings.HasPrefix(r.stderr, "relist "+name+": "+tt.want) || strings.Contains(r.stderr, "strconv") || r.stdout != "" {
			t.Errorf("relist %s: status %d, stdout %q, stderr %q; want %d, %q", tt.args, r.status, r.stdout, r.stderr, cli.ExitUsage, tt.want)
		}
	}
}

func TestNamespaceOfWhatHasNone(t *testing.T) {
	_, url := newServer(t, apitest.Options{})
	r := command(t, "mirror", "nodes", "-n", "shop", "--server", url, "--exit-on-sync", "-o", "none")
	if r.status != cli.ExitOK || r.stderr != "nodes belong to no namespace: -n shop is ignored\n" {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

// full is a disk without room.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// If help cannot be written, the command fails, unless the reader has closed the pipe.
func TestOutputFails(t *testing.T) {
	for _, args := range []string{"--help", "mirror --help", "--version", "completion bash"} {
		for err, want := range map[error]int{syscall.ENOSPC: cli.ExitError, syscall.EPIPE: cli.ExitOK} {
			var stderr strings.Builder
			status := run(t.Context(), strings.Fields(args), full{err}, &stderr)
			if status != want || want == cli.ExitError && !strings.Contains(stderr.String(), err.Error()) {
				t.Errorf("relist %s: status %d, stderr %q; want %d", args, status, stderr.String(), want)
			}
		}
	}
}

// --for has the same meaning in every command.
func TestForIsShownWithoutDefault(t *testing.T) {
	for _, name := range []string{"mirror", "record"} {
		r := command(t, name, "--help")
		i := slices.IndexFunc(strings.Split(r.stdout, "\n"), func(l string) bool { return strings.Contains(l, "--for duration") })
		if i < 0 || strings.Contains(strings.Split(r.stdout, "\n")[i], "default 0") {
			t.Errorf("%s --help: %q", name, r.stdout)
		}
	}
}
