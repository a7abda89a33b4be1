package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/internal/must"
)

// pages are the headers that browsers send for requests of foreign pages.
var pages = map[string]map[string]string{
	"a name that was made to resolve to this machine": {"Host": "rebound.example"},
	"such a name, and the page's own requests":        {"Host": "rebound.example", "Origin": "http://rebound.example", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"},
	"fetch of a page elsewhere":                       {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
	"a page in a sandbox":                             {"Origin": "null", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
	"a page of another server of this machine":        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
	"a WebSocket of a page elsewhere": {
		"Origin": "https://evil.example", "Connection": "Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
		"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "websocket",
	},
}

// A foreign page in a browser can neither read nor change anything of `relist serve`, and
// cannot read the status of `relist mirror`.
func TestForeignPagesReachNeitherServerNorStatus(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "canary-name")
	mirror := start(t, "mirror", "cm", "-A", "--server", url, "-o", "json", "--status-listen", "127.0.0.1:0")
	mirror.await(`"kind":"synced"`)
	served := start(t, "serve", "--objects", "20")
	served.await("faults ")
	api := strings.Fields(served.out.String())[1]

	type target struct{ method, url string }
	targets := []target{
		{"POST", api + "/_faults/stall"},
		{"POST", api + "/_faults/fail?status=500&times=100"},
		{"POST", api + "/api/v1/namespaces/default/configmaps"},
		{"DELETE", api + "/api/v1/configmaps"},
		{"GET", api + "/api/v1/configmaps"},
		{"GET", api + "/api/v1/configmaps?watch=true"},
		{"GET", api + "/_faults/"},
	}
	for _, path := range []string{"/status", "/healthz", "/readyz"} {
		targets = append(targets, target{"GET", mirror.statusURL() + path})
	}
	for page, header := range pages {
		for _, at := range targets {
			code, body := askAs(t, at.method, at.url, header)
			if code != http.StatusForbidden || strings.Contains(body, "canary") || strings.Contains(body, `"items"`) {
				t.Errorf("%s: %s %s: %d %s", page, at.method, at.url, code, body)
			}
		}
	}
	for _, path := range []string{"/api/v1/configmaps", "/_faults/"} {
		if code, body := ask(t, api+path); code != http.StatusOK {
			t.Errorf("%s after all that: %d %s", path, code, body)
		}
	}
	if code, body := ask(t, mirror.statusURL()+"/status"); code != http.StatusOK || !strings.Contains(body, `"objects": 1`) {
		t.Errorf("the status for a program: %d %s", code, body)
	}
}

// Requests for an allowed name get the status.
func TestStatusHost(t *testing.T) {
	server, url := newServer(t, apitest.Options{})
	createConfigMap(t, server, "a", "one")
	p := start(t, "mirror", "cm", "-A", "--server", url, "--status-listen", "127.0.0.1:0", "--status-host", "relist.web.svc")
	for name, want := range map[string]int{"relist.web.svc:8081": http.StatusOK, "relist.other.svc:8081": http.StatusForbidden} {
		if code, body := askAs(t, "GET", p.statusURL()+"/status", map[string]string{"Host": name}); code != want {
			t.Errorf("%s: %d %s, want %d", name, code, body, want)
		}
	}
}

// askAs sends a request with headers on a connection of its own, and returns the answer.
func askAs(t *testing.T, method, url string, header map[string]string) (code int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	must.OK(t, err)
	for name, value := range header {
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	must.OK(t, err)
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return resp.StatusCode, ""
	}
	all, err := io.ReadAll(resp.Body)
	must.OK(t, err)
	return resp.StatusCode, string(all)
}
