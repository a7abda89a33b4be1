package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
)

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
