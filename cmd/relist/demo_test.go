package main

import (
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/cli"
)

func TestDemo(t *testing.T) {
	t.Parallel() // most of the time is spent waiting
	r := command(t, "demo", "--objects", "60", "--duration", "0s", "--rate", "100", "--seed", "11")
	if r.status != cli.ExitOK || r.stderr != "" {
		t.Fatalf("status %d, stderr %q\n%s", r.status, r.stderr, r.stdout)
	}
	for _, want := range []string{"seed 11", "fault ", "recovered ", "410s ", "Too large ", "tombstones ", "events/s ", "lag p50/p99 "} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("%q is not in:\n%s", want, r.stdout)
		}
	}
	if !strings.HasSuffix(r.stdout, "\nmirror matches the server\n") {
		t.Errorf("the output ends with %q", r.stdout[max(0, len(r.stdout)-100):])
	}
}
