package main

import (
	"strings"
	"testing"

	"github.com/relist-go/relist/cmd/internal/cli"
)

func TestDemo(t *testing.T) {
	t.Parallel() // most of the time is spent waiting
	r := command(t, "demo", "--duration", "0s")
	if r.status != cli.ExitOK || r.stderr != "" {
		t.Fatalf("status %d, stderr %q\n%s", r.status, r.stderr, r.stdout)
	}
	for _, met := range []string{
		"cut connection", "deletions while the watch is down", "410 in the stream", "410 as an HTTP status",
		"410 on the relist", "expired continue token", "Too large resource version", "stalled connection",
	} {
		if strings.Count(r.stdout, met+", live again after ") != 1 || !strings.Contains(r.stdout, "\n  "+met+" ") {
			t.Errorf("%q is not in:\n%s", met, r.stdout)
		}
	}
	if !strings.HasSuffix(r.stdout, "\nmirror matches the server\n") {
		t.Errorf("the output ends with %q", r.stdout[max(0, len(r.stdout)-100):])
	}
}
