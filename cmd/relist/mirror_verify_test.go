package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/must"
)

func TestMirrorAsksForTheFirstStateAsTold(t *testing.T) {
	server, _ := newServer(t, apitest.Options{})
	for _, tt := range []struct{ initial, want string }{
		{"list", "limit=500&resourceVersion=0"},
		{"recent", "limit=500"},
		{"watch", "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true"},
	} {
		var asked []string
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if query := req.URL.Query(); strings.HasSuffix(req.URL.Path, "/configmaps") {
				query.Del("timeoutSeconds")
				asked = append(asked, query.Encode())
			}
			server.ServeHTTP(w, req)
		}))
		r := command(t, "mirror", "cm", "-A", "--server", front.URL, "--initial", tt.initial, "--exit-on-sync", "-o", "json")
		front.Close()
		if r.status != cli.ExitOK || len(asked) == 0 || asked[0] != tt.want {
			t.Errorf("--initial %s: status %d, asked for %q, want %q first; stderr %s", tt.initial, r.status, asked, tt.want, r.stderr)
		}
	}
}

// An event that the server's cache loses is missed by every client. A verification finds what it
// was about.
func TestMirrorVerifies(t *testing.T) {
	server, url := newServer(t, apitest.Options{BookmarkPeriod: 20 * time.Millisecond})
	createConfigMap(t, server, "a", "one")
	p := start(t, "mirror", "cm", "-A", "--server", url, "-o", "json", "--verify", "200ms")
	p.await(`"kind":"synced"`)
	must.OK(t, server.DropEvent("ADDED", 1))
	createConfigMap(t, server, "a", "two")
	p.await(`"key":"a/two"`)
	if r := p.interrupt(); r.status != cli.ExitOK {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

func TestMirrorRefusesBadInitialAndVerify(t *testing.T) {
	for _, args := range [][]string{
		{"mirror", "cm", "--initial", "all"},
		{"mirror", "cm", "--verify", "-1s"},
	} {
		if r := command(t, args...); r.status != cli.ExitUsage {
			t.Errorf("%v: status %d, want %d; %s", args, r.status, cli.ExitUsage, r.stderr)
		}
	}
}
