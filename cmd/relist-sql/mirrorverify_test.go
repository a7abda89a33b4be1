package main

import (
	"strings"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/must"
)

// An event that the server's cache loses is missed by every client. A verification finds what it
// was about, says so, and repairs it.
func TestMirrorVerifies(t *testing.T) {
	w := newWorld(t, 2)
	p := start(t, w.mirror("--verify", "200ms")...)
	p.out.Await(t, "2 objects at ")
	must.OK(t, w.server.DropEvent("ADDED", 1))
	w.configMap("lost", "1")
	p.errors.Await(t, `level=WARN msg="relist: the copy differed from the server" resource=configmaps objects=3 differences=1 `)
	w.awaitRow(p, "a/lost")
	if r := p.interrupt(); r.status != cli.ExitOK {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

// A server that refuses the lists of verifications is told of once.
func TestMirrorCannotVerify(t *testing.T) {
	w := newWorld(t, 1)
	p := start(t, w.mirror("--verify", "100ms")...)
	p.out.Await(t, "1 object at ")
	must.OK(t, w.server.FailNext(apitest.Failure{Verb: "list", Resource: "configmaps", Status: 500, Message: "no metadata today", Count: 4}))
	p.errors.Await(t, "relist: verification works again")
	r := p.interrupt()
	if want := "relist: verification failed"; r.status != cli.ExitOK || strings.Count(r.stderr, want) != 1 || !strings.Contains(r.stderr, "no metadata today") {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}
