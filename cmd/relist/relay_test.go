package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
)

func TestRelay(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	for _, name := range []string{"a", "b"} {
		if _, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"name": name, "namespace": "shop"}}); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	p := start(t, "relay", "cm,pods", "--server", url, "--anonymous", "--listen", "127.0.0.1:0", "--dir", dir)
	p.await("serving http://")
	front := strings.TrimSpace(strings.TrimPrefix(p.out.String(), "serving "))
	r := command(t, "mirror", "cm", "-A", "--server", front, "--exit-on-sync", "-o", "json")
	if s := summaryOf(t, r.stdout); s["objects"].(float64) != 2 {
		t.Errorf("%v objects, want 2", s["objects"])
	}
	do(t, http.MethodGet, front+"/readyz", "*/*")
	if r := p.interrupt(); r.status != cli.ExitOK {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
	p = start(t, "relay", "cm,pods", "--server", url, "--anonymous", "--listen", "127.0.0.1:0", "--dir", dir)
	p.errors.Await(t, `msg="relist: begins with a saved copy" resource=configmaps objects=2`)
	p.interrupt()
}

// TestRelayIsCareful has flags that would show objects, or tokens, to others than those who may see
// them.
func TestRelayIsCareful(t *testing.T) {
	_, url := newServer(t, apitest.Options{})
	for _, tt := range []struct{ args, want string }{
		{"relay pods --listen :8443", "tokens would be sent in the clear"},
		{"relay pods --listen 10.0.0.1:8443 --anonymous --tls-cert a --tls-key b", "--anonymous is for addresses of this machine"},
		{"relay pods --anonymous --pass-on", "cannot be used together"},
		{"relay pods --anonymous --tls-cert a --tls-key b --client-ca c", "--anonymous lets everyone in"},
		{"relay pods --tls-cert a", "belong together"},
		{"relay pods --client-ca a", "--client-ca needs --tls-cert"},
		{"relay pods --token-ttl -1s", "cannot be negative"},
		{"relay pods --save-every 0s", "more than 0"},
		{"relay pods --max-staleness 1m", "want 3m0s or more"},
		{"relay secrets", "only with --secrets"},
	} {
		r := command(t, append(strings.Fields(tt.args), "--server", url)...)
		if r.status != cli.ExitUsage || !strings.Contains(r.stderr, tt.want) {
			t.Errorf("%s: status %d, %s, want %q", tt.args, r.status, r.stderr, tt.want)
		}
	}
}

// TestAnyoneHere has the names by which a request can reach a relay without a credential.
func TestAnyoneHere(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1:8090": true, "localhost:8090": true, "[::1]:8090": true, "[::1]": true, "127.0.0.1": true, "localhost": true,
		"evil.example:8090": false, "localhost.evil.example": false, "127.0.0.1.evil.example:8090": false, "10.0.0.1:8090": false, "": false,
	} {
		user, err := anyoneHere(&http.Request{Host: host})
		if err != nil || (user != nil) != want {
			t.Errorf("%q: %v, %v, want %v", host, user, err, want)
		}
	}
}
