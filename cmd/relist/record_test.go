package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/must"
)

// A recording can be replayed, also a scrubbed one.
func TestRecord(t *testing.T) {
	for _, scrub := range []string{"--scrub=false", "--scrub"} {
		server, url := newServer(t, apitest.Options{Token: "secret-token"})
		createConfigMap(t, server, "default", "alice")
		createConfigMap(t, server, "payments", "bob")
		path := filepath.Join(t.TempDir(), "recorded.txt")
		p := start(t, "record", "cm", "-A", "--server", url, "--token", "secret-token", "-o", path, scrub, "-v")
		p.await("< 200 watch")
		createConfigMap(t, server, "payments", "carol")
		p.await("ADDED payments/carol")
		server.CutWatches(0)
		p.await("< cut\n> GET")
		createConfigMap(t, server, "payments", "dora")
		p.await("ADDED payments/dora")
		r := p.interrupt()
		if r.status != cli.ExitOK || r.stderr != "" || !strings.Contains(r.stdout, "recorded "+path+": 3 requests, 5 objects") {
			t.Fatalf("status %d, stderr %q, stdout\n%s", r.status, r.stderr, r.stdout)
		}
		text, err := os.ReadFile(path)
		must.OK(t, err)
		names := []string{"secret-token", url}
		if scrub == "--scrub" {
			names = append(names, "alice", "bob", "carol", "dora", "payments")
		}
		for _, name := range names {
			if strings.Contains(string(text), name) {
				t.Errorf("%q is in\n%s", name, text)
			}
		}
		if r := command(t, "replay", path); r.status != cli.ExitOK || r.stdout != "ok   "+path+"\n" {
			t.Errorf("status %d, %s\n%s", r.status, r.stdout, text)
		}
	}
}

func TestRecordErrors(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "default", "alice")
	dir := t.TempDir()
	for want, tt := range map[string]struct {
		args   []string
		status int
	}{
		"name one resource":                 {[]string{"-o", "x"}, cli.ExitUsage},
		"name a file for the trace":         {[]string{"pods"}, cli.ExitUsage},
		"cannot be used together":           {[]string{"pods", "-o", "x", "-n", "a", "-A"}, cli.ExitUsage},
		"want a positive time":              {[]string{"pods", "-o", "x", "--for", "-1s"}, cli.ExitUsage},
		"want 1 or more":                    {[]string{"pods", "-o", "x", "--page-size", "-1"}, cli.ExitUsage},
		"no such file or directory":         {[]string{"pods", "-o", dir + "/none/x", "--server", url}, cli.ExitError},
		`the server has no resource "podz"`: {[]string{"podz", "-o", dir + "/x", "--server", url}, cli.ExitError},
		"connection refused":                {[]string{"pods", "-o", dir + "/x", "--server", closedPort(t)}, cli.ExitError},
	} {
		r := command(t, append([]string{"record"}, tt.args...)...)
		if r.status != tt.status || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: status %d, stderr %q, want %d and %q", tt.args, r.status, r.stderr, tt.status, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRecordFor(t *testing.T) {
	_, url := newServer(t, apitest.Options{})
	path := filepath.Join(t.TempDir(), "recorded.txt")
	r := command(t, "record", "nodes", "--server", url, "-o", path, "--for", "300ms")
	if r.status != cli.ExitOK || r.took < 300*time.Millisecond {
		t.Errorf("status %d after %v, %s", r.status, r.took, r.stderr)
	}
	if r := command(t, "replay", path); r.status != cli.ExitOK {
		t.Errorf("status %d: %s", r.status, r.stdout)
	}
}
