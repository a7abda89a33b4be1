package apitest

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// from sends a request as a browser does for a page.
func from(t *testing.T, addr, method, path, host, origin string, header ...string) (code int, answer string, h http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, addr+path, nil)
	must.OK(t, err)
	if host != "" {
		req.Host = host
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	must.OK(t, err)
	defer resp.Body.Close()
	var b strings.Builder
	_ = resp.Write(&b)
	return resp.StatusCode, b.String(), resp.Header
}

// A page that somebody has open reaches neither objects nor faults, under no name.
func TestForeignPagesAreRefused(t *testing.T) {
	_, addr := Start(t, Options{AllowedHosts: []string{"api.test"}, AllowedOrigins: []string{"https://console.test"}})
	_, port, err := net.SplitHostPort(strings.TrimPrefix(addr, "http://"))
	must.OK(t, err)
	for _, tt := range []struct {
		host, origin string
		code         int
		says         string
	}{
		{"", "", 200, ""},
		{"localhost:" + port, "", 200, ""},
		{"LocalHost.:" + port, "", 200, ""},
		{"a.localhost:" + port, "", 200, ""},
		{"[::1]:" + port, "", 200, ""},
		{"192.0.2.1", "", 200, ""},
		{"api.test:" + port, "", 200, ""},
		{"", addr, 200, ""},
		{"localhost", "http://localhost:80", 200, ""},
		{"", "https://console.test", 200, ""},
		{"evil.example:" + port, "", 403, "relist serve --allow-host evil.example"},
		{"evil.example", "http://evil.example", 403, "relist serve --allow-host evil.example"},
		{"localhost.evil.example", "", 403, "Options.AllowedHosts"},
		{"", "http://evil.example", 403, "relist serve --allow-origin http://evil.example"},
		{"", "http://127.0.0.1:1", 403, "Options.AllowedOrigins"},
		{"", "https://127.0.0.1:" + port + "0", 403, "Options.AllowedOrigins"},
		{"", "null", 403, "Options.AllowedOrigins"},
	} {
		for _, request := range []string{"GET /api/v1/configmaps", "GET /_faults/", "POST /_faults/compact", "GET /readyz"} {
			method, path, _ := strings.Cut(request, " ")
			code, answer, _ := from(t, addr, method, path, tt.host, tt.origin)
			if code != tt.code || !strings.Contains(strings.ReplaceAll(answer, `\"`, `"`), tt.says) {
				t.Errorf("%s, host %q, origin %q: %d %s, want %d %s", request, tt.host, tt.origin, code, answer, tt.code, tt.says)
			}
		}
	}
	dialer := (&net.Dialer{}).DialContext
	for origin, want := range map[string]int{addr: 101, "https://console.test": 101, "http://evil.example": 403} {
		w, err := dialSocket(t, dialer, addr+"/api/v1/configmaps?watch=true", "Origin", origin)
		if w.resp == nil || w.resp.StatusCode != want {
			t.Errorf("a WebSocket of a page of %s: %v, %v, want %d", origin, w.resp, err, want)
		}
	}
}

// A page that is allowed gets to see the answers.
func TestAllowedPagesSeeTheAnswers(t *testing.T) {
	_, addr := Start(t, Options{AllowedOrigins: []string{"https://console.test"}, Token: "t"})
	code, answer, h := from(t, addr, "OPTIONS", "/api/v1/configmaps", "", "https://console.test",
		"Access-Control-Request-Method", "PATCH", "Access-Control-Request-Headers", "authorization,content-type")
	if code != http.StatusNoContent || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "PATCH") ||
		h.Get("Access-Control-Allow-Headers") != "authorization,content-type" || h.Get("Access-Control-Allow-Origin") != "https://console.test" {
		t.Errorf("before the request: %d %s", code, answer)
	}
	code, answer, h = from(t, addr, "GET", "/api/v1/configmaps", "", "https://console.test", "Authorization", "Bearer t")
	if code != http.StatusOK || h.Get("Access-Control-Allow-Origin") != "https://console.test" || h.Get("Vary") != "Origin" {
		t.Errorf("the request: %d %s", code, answer)
	}
	if _, _, h := from(t, addr, "GET", "/api/v1/configmaps", "", ""); h.Get("Access-Control-Allow-Origin") != "" {
		t.Error("an answer to no page is shared with one")
	}
}
