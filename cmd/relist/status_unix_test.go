//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli/clitest"
	"github.com/relist-go/relist/internal/must"
)

// A real signal, to a real process: in this one, every mirror would answer it.
func TestStatusSignal(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "mirror", "cm", "-A", "--server", url, "-o", "json")
	cmd.Env = append(os.Environ(), "RELIST_TEST_IS_COMMAND=1", "GORACE=atexit_sleep_ms=0")
	stdout, stderr := clitest.NewOutput(), clitest.NewOutput()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	must.OK(t, cmd.Start())
	stdout.Await(t, `"kind":"watch"`)
	stdout.Await(t, `"kind":"synced"`) // the list may be applied after the watch was asked for
	must.OK(t, cmd.Process.Signal(syscall.SIGUSR1))
	text := strings.Join(strings.Fields(stderr.Await(t, "last byte")), " ")
	for _, want := range []string{"status of configmaps from " + url, " health ok ", " objects 1, pending 0 "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	must.OK(t, cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err != nil {
		t.Errorf("exit: %v; %s", err, stderr.String())
	}
	jsonLines(t, stdout.String())
}
