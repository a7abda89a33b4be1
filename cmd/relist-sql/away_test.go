package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/must"
)

// While the server cannot be reached, the log says so once, and once more when it can be reached
// again.
func TestServerAway(t *testing.T) {
	w := newWorld(t, 1)
	p := start(t, w.mirror("--status-listen", "127.0.0.1:0")...)
	p.out.Await(t, "1 object at ")
	must.OK(t, w.server.Refuse(0))
	p.errors.Await(t, `level=WARN msg="relist: failing" resource=configmaps reason=unreachable error="`)
	p.awaitAnswer("/status", `"failingSince"`)
	must.OK(t, w.server.Resume())
	w.configMap("after", "1") // an event shows that the server still has the version
	p.errors.Await(t, `level=WARN msg="relist: recovered" resource=configmaps after=`)
	w.awaitRow(p, "a/after")
	r := p.interrupt()
	_, said, _ := strings.Cut(r.stderr, "/status\n")
	if r.status != cli.ExitOK || strings.Count(said, "\n") != 2 || !strings.Contains(said, "connection refused") {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

// Another failure of the same outage has a line of its own.
func TestServerFailsInTwoWays(t *testing.T) {
	w := newWorld(t, 1)
	p := start(t, w.mirror()...)
	p.out.Await(t, "1 object at ")
	for _, status := range []int{500, 503} {
		must.OK(t, w.server.FailNext(apitest.Failure{Verb: "watch", Status: status, Message: "not yet"}))
	}
	w.server.CutWatches(0)
	p.errors.Await(t, `msg="relist: failing" resource=configmaps reason=failed error="`)
	p.errors.Await(t, `msg="relist: still failing" resource=configmaps reason=unavailable error="`)
	w.configMap("after", "1")
	p.errors.Await(t, `level=WARN msg="relist: recovered" resource=configmaps after=`)
	if r := p.interrupt(); r.status != cli.ExitOK || strings.Count(r.stderr, "not yet") != 2 || strings.Count(r.stderr, "\n") != 3 {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

// If the first list is refused for a reason that waiting does not mend, the command ends with it,
// and does not say that it tries again.
func TestFirstListIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/configmaps") && req.URL.Query().Get("limit") != "1" {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not for you","code":403}`)
			return
		}
		w.server.ServeHTTP(rw, req)
	}))
	defer srv.Close()
	w.url = srv.URL
	if r := command(t, w.mirror()...); r.status != cli.ExitError || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "not for you") {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}
