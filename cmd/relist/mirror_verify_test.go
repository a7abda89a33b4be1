package main

import (
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
)

func TestMirrorAsksForTheFirstStateAsTold(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	for _, tt := range []struct {
		initial        string
		lists, watches float64
	}{
		{"list", 1, 0},
		{"recent", 1, 0},
		{"watch", 0, 1},
	} {
		r := command(t, "mirror", "cm", "-A", "--server", url, "--initial", tt.initial, "--exit-on-sync", "-o", "json")
		s := summaryOf(t, r.stdout)
		watches, _ := s["watches"].(float64)
		if r.status != exitOK || s["objects"] != 1.0 || s["lists"] != tt.lists || watches < tt.watches {
			t.Errorf("--initial %s: status %d, summary %v, stderr %s", tt.initial, r.status, s, r.stderr)
		}
	}
}

// An event that the server's cache loses is missed by every client. A verification finds what it was about.
func TestMirrorVerifies(t *testing.T) {
	server, url := newServer(t, apitest.Options{BookmarkPeriod: 20 * time.Millisecond})
	createConfigMap(t, server, "a", "one")
	p := start(t, "mirror", "cm", "-A", "--server", url, "-o", "json", "--verify", "200ms")
	p.await(`"kind":"synced"`)
	p.await(`"kind":"bookmark"`)
	if err := server.DropEvent("ADDED", 1); err != nil {
		t.Fatal(err)
	}
	createConfigMap(t, server, "a", "two")
	p.await(`"key":"a/two"`)
	if r, _ := p.interrupt(); r.status != exitOK {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

func TestMirrorRefusesBadInitialAndVerify(t *testing.T) {
	for _, args := range [][]string{
		{"mirror", "cm", "--initial", "all"},
		{"mirror", "cm", "--verify", "-1s"},
	} {
		if r := command(t, args...); r.status != exitUsage {
			t.Errorf("%v: status %d, want %d; %s", args, r.status, exitUsage, r.stderr)
		}
	}
}
