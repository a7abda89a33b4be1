package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/relist-go/relist/cmd/internal/cli"
	"github.com/relist-go/relist/internal/must"
)

func TestServe(t *testing.T) {
	p := start(t, "serve", "--objects", "30", "--rate", "500", "--replicas", "3")
	p.await("faults ")
	var serving []string
	faults := ""
	for line := range strings.Lines(p.out.String()) {
		word, url, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "serving":
			url, _, _ = strings.Cut(url, " replica-")
			serving = append(serving, url)
		case "faults":
			faults = url
		}
	}
	if len(serving) != 3 || faults == "" {
		t.Fatalf("stdout = %q, want three addresses and the switches", p.out.String())
	}
	for _, url := range serving {
		r := command(t, "mirror", "cm", "-A", "--server", url, "--exit-on-sync", "-o", "json")
		if s := summaryOf(t, r.stdout); s["objects"].(float64) < 25 {
			t.Errorf("%s: %v objects", url, s["objects"])
		}
	}
	for _, encoding := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		if got := contentType(t, serving[0]+"/api/v1/configmaps", encoding); got != encoding {
			t.Errorf("asked for %s: it came as %s", encoding, got)
		}
	}
	// It churns, and the switches work.
	m := start(t, "mirror", "cm", "-A", "--server", serving[0], "-o", "json")
	m.await(`"type":"Updated"`)
	post(t, faults+"cut")
	m.await(`"kind":"watchEnd"`)
	if r := m.interrupt(); r.status != cli.ExitOK {
		t.Errorf("mirror: status %d", r.status)
	}
	if r := p.interrupt(); r.status != cli.ExitOK {
		t.Errorf("serve: status %d, %s", r.status, r.stderr)
	}
}

// contentType returns what an answer comes as, if accept is asked for.
func contentType(t *testing.T, url, accept string) string {
	t.Helper()
	return do(t, http.MethodGet, url, accept).Get("Content-Type")
}

func post(t *testing.T, url string) {
	t.Helper()
	do(t, http.MethodPost, url, "*/*")
}

// do sends a request that must succeed, and returns the header of the answer.
func do(t *testing.T, method, url, accept string) http.Header {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	must.OK(t, err)
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	must.OK(t, err)
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %s", method, url, resp.Status, body)
	}
	return resp.Header
}

func TestServeAddressTaken(t *testing.T) {
	p := start(t, "serve")
	p.await("faults ")
	url := strings.Fields(p.out.String())[1]
	r := command(t, "serve", "--listen", strings.TrimPrefix(url, "http://"))
	if r.status != cli.ExitError || !strings.Contains(r.stderr, "address already in use; choose another address with --listen") {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

// A web page reaches neither the objects nor the faults, unless it is allowed.
func TestServeRefusesForeignPages(t *testing.T) {
	p := start(t, "serve", "--allow-host", "api.test", "--allow-origin", "https://console.test")
	p.await("faults ")
	url := strings.Fields(p.out.String())[1]
	for _, tt := range []struct {
		host, origin string
		want         int
		says         string
	}{
		{"", "", http.StatusOK, ""},
		{"api.test", "", http.StatusOK, ""},
		{"", "https://console.test", http.StatusOK, ""},
		{"evil.example", "", http.StatusForbidden, "--allow-host evil.example"},
		{"", "https://evil.example", http.StatusForbidden, "--allow-origin https://evil.example"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/_faults/compact", http.NoBody)
		must.OK(t, err)
		req.Host = tt.host
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		resp, err := http.DefaultClient.Do(req)
		must.OK(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.want || !strings.Contains(string(body), tt.says) {
			t.Errorf("host %q, origin %q: %s %s, want %d %s", tt.host, tt.origin, resp.Status, body, tt.want, tt.says)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if r := p.interrupt(); r.status != cli.ExitOK {
		t.Errorf("serve: status %d, %s", r.status, r.stderr)
	}
}

// With --tls the API comes over HTTP/2, --log says what was asked, and the bookmark period is that
// of the flag.
func TestServeWithTLSAndLog(t *testing.T) {
	p := start(t, "serve", "--tls", "--log", "--objects", "3", "--bookmark-period", "1s", "--replicas", "2")
	p.await("faults ")
	lines := strings.Fields(p.out.String())
	if lines[0] != "ca" || lines[2] != "serving" || !strings.HasPrefix(lines[3], "https://") || lines[4] != "serving" {
		t.Fatalf("stdout = %q", p.out.String())
	}
	for _, url := range []string{lines[3], lines[5]} {
		r := command(t, "mirror", "cm", "-A", "--server", url, "--certificate-authority", lines[1], "--exit-on-sync", "-o", "json")
		if s := summaryOf(t, r.stdout); s["objects"].(float64) != 3 {
			t.Errorf("%s: %v objects, %s", url, s["objects"], r.stderr)
		}
	}
	p.errors.Await(t, `HTTP/2.0 GET "/api/v1/configmaps`)
	if r := p.interrupt(); r.status != cli.ExitOK {
		t.Errorf("serve: status %d, %s", r.status, r.stderr)
	}
	if _, err := os.Stat(lines[1]); !os.IsNotExist(err) {
		t.Errorf("the authority is left behind: %v", err)
	}
}

func TestServeCustom(t *testing.T) {
	p := start(t, "serve", "--custom", "orders.shop.example.com/v1/Order", "--pods", "3")
	p.await("faults ")
	first, _, _ := strings.Cut(p.out.String(), "\n")
	url := strings.TrimPrefix(first, "serving ")
	for resource, want := range map[string]float64{"orders.shop.example.com": 0, "pods": 3} {
		r := command(t, "mirror", resource, "-A", "--server", url, "--exit-on-sync", "-o", "json")
		if s := summaryOf(t, r.stdout); s["objects"].(float64) != want {
			t.Errorf("%s: %v objects, want %v", resource, s["objects"], want)
		}
	}
	for _, wrong := range []string{"orders", "orders/v1/Order", "orders.shop/v1", ".shop/v1/Order", "orders.shop//Order", "orders.shop/v1/Order/x"} {
		if r := command(t, "serve", "--custom", wrong); r.status != cli.ExitUsage || !strings.Contains(r.stderr, "PLURAL.GROUP/VERSION/KIND") {
			t.Errorf("--custom %s: status %d, %s", wrong, r.status, r.stderr)
		}
	}
}
