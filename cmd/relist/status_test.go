package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/cmd/internal/cli/clitest"
	"github.com/relist-go/relist/internal/must"
)

// statusURL waits until the command has said where its status is.
func (p *process) statusURL() string {
	p.t.Helper()
	text := p.errors.Await(p.t, "/status\n")
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "status on "), "/status")
}

// ask sends a GET on a connection of its own.
func ask(t *testing.T, url string) (code int, body string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	must.OK(t, err)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	must.OK(t, err)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	must.OK(t, err)
	return resp.StatusCode, string(all)
}

// askUntil asks until the answer has a code, and returns the body.
func askUntil(t *testing.T, url string, want int) string {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(clitest.Limit)
	for {
		code, body := ask(t, url)
		if code == want {
			return body
		}
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("%s answers %d %q, want %d", url, code, body, want)
		}
	}
}

// If the server stalls, the copy becomes stale. If the server continues, the copy
// becomes fresh again.
func TestStatusListen(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	p := start(t, "mirror", "cm", "-A", "--server", url, "-o", "json", "--status-listen", "127.0.0.1:0", "--max-staleness", "300ms")
	p.await(`"kind":"synced"`)
	status := p.statusURL()
	if code, body := ask(t, status+"/readyz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("/readyz: %d %q", code, body)
	}
	server.Stall()
	if body := askUntil(t, status+"/healthz", http.StatusServiceUnavailable); !strings.HasPrefix(body, "no watch has been heard for ") || !strings.HasSuffix(body, ", more than 300ms\n") {
		t.Errorf("/healthz says %q", body)
	}
	createConfigMap(t, server, "a", "two")
	must.OK(t, server.Resume())
	p.await(`"key":"a/two"`)
	changing := make(chan struct{})
	defer func() { <-changing }()
	done := make(chan struct{})
	defer close(done)
	go func() { // the limit is short: keep the server talking
		defer close(changing)
		keepTouching(t, server, done)
	}()
	askUntil(t, status+"/healthz", http.StatusOK)

	var fields struct {
		State   string
		Synced  bool
		Objects int
	}
	if _, body := ask(t, status+"/status"); json.Unmarshal([]byte(body), &fields) != nil || fields.State != "watching" || !fields.Synced || fields.Objects != 2 {
		t.Errorf("/status: %s", body)
	}
	r := p.interrupt()
	if r.status != cli.ExitOK {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	jsonLines(t, r.stdout) // nothing else is there
	if r = command(t, "mirror", "cm", "-A", "--server", url, "--exit-on-sync", "--status-listen", strings.TrimPrefix(status, "http://")); r.status != cli.ExitOK {
		t.Errorf("the address is not free again: %s", r.stderr)
	}
}

// keepTouching changes an object every few milliseconds until done.
func keepTouching(t *testing.T, server *apitest.Server, done <-chan struct{}) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := server.Patch("configmaps", "a", "one", map[string]any{"data": map[string]any{"at": time.Now().String()}}); err != nil {
			t.Error(err)
			return
		}
		select {
		case <-ticker.C:
		case <-done:
			return
		}
	}
}

// An error about an address comes before any other work.
func TestStatusListenErrors(t *testing.T) {
	_, url := newServer(t, apitest.Options{})
	p := start(t, "serve")
	p.await("faults ")
	taken := strings.TrimPrefix(strings.Fields(p.out.String())[1], "http://")
	for addr, want := range map[string]string{
		taken:             "address already in use; choose another address with --status-listen\n",
		"127.0.0.1:99999": "invalid port; choose another address with --status-listen\n",
	} {
		r := command(t, "mirror", "cm", "--server", url, "--status-listen", addr)
		if r.status != cli.ExitError || r.stdout != "" || !strings.HasPrefix(r.stderr, "relist mirror: listen for status requests: ") || !strings.HasSuffix(r.stderr, want) {
			t.Errorf("%s: status %d, stderr %q, want %q", addr, r.status, r.stderr, want)
		}
	}
}
