package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A request passes if it comes from a program, or from the browser's own address bar, and is
// for an address, for localhost, or for a name that is allowed.
func TestForeignRequestsAreRefused(t *testing.T) {
	h := Local(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("secret")) }), []string{"Relist.web.svc", "dotted.web.svc.", "with.port:8081"})
	for _, tt := range []struct {
		host   string
		header string // "Name: value, Name: value"
		want   string // part of the refusal; empty: it passes
	}{
		{"127.0.0.1:8081", "", ""},
		{"[::1]:8081", "", ""},
		{"10.1.2.3:8081", "User-Agent: kube-probe/1.36", ""},
		{"LocalHost:8081", "", ""},
		{"localhost.:8081", "", ""},
		{"relist.web.svc:8081", "", ""},
		{"dotted.web.svc:8081", "", ""},
		{"with.port:8081", "", ""},
		{"evil.example:8081", "", "--status-host"},
		{"localhost.evil.example", "", "--status-host"},
		{"relist.web.svc.evil.example", "", "--status-host"},
		{"127.0.0.1.evil.example", "", "--status-host"},
		{"", "", "--status-host"},
		{"0x7f.1:8081", "", "--status-host"},
		{"127.0.0.1:8081", "Origin: http://127.0.0.1:8081", ""},
		{"127.0.0.1:8081", "Origin: http://127.0.0.1:8082", "comes from a page"},
		{"127.0.0.1:8081", "Origin: https://127.0.0.1:8081", "comes from a page"},
		{"127.0.0.1:8081", "Origin: https://evil.example", "comes from a page"},
		{"127.0.0.1:8081", "Origin: null", "comes from a page"},
		{"127.0.0.1:8081", "Origin: %zz", "comes from a page"},
		{"127.0.0.1:8081", "Sec-Fetch-Site: cross-site, Sec-Fetch-Mode: no-cors, Sec-Fetch-Dest: image", "Sec-Fetch-Site"},
		{"127.0.0.1:8081", "Sec-Fetch-Site: same-site, Sec-Fetch-Mode: no-cors, Sec-Fetch-Dest: script", "Sec-Fetch-Site"},
		{"127.0.0.1:8081", "Sec-Fetch-Site: cross-site, Sec-Fetch-Mode: navigate, Sec-Fetch-Dest: iframe", "Sec-Fetch-Site"},
		{"127.0.0.1:8081", "Sec-Fetch-Site: cross-site, Sec-Fetch-Mode: websocket, Sec-Fetch-Dest: websocket", "Sec-Fetch-Site"},
		{"127.0.0.1:8081", "Sec-Fetch-Site: cross-site, Sec-Fetch-Mode: navigate, Sec-Fetch-Dest: document", ""},
		{"127.0.0.1:8081", "Sec-Fetch-Site: none, Sec-Fetch-Mode: navigate, Sec-Fetch-Dest: document", ""},
		{"127.0.0.1:8081", "Sec-Fetch-Site: same-origin, Sec-Fetch-Mode: cors, Sec-Fetch-Dest: empty", ""},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/status", http.NoBody)
		req.Host = tt.host
		for field := range strings.SplitSeq(tt.header, ", ") {
			if name, value, ok := strings.Cut(field, ": "); ok {
				req.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		passes := w.Code == http.StatusOK && w.Body.String() == "secret"
		if refused := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), tt.want); tt.want == "" && !passes || tt.want != "" && !refused {
			t.Errorf("host %q, %q: %d %s, want %q", tt.host, tt.header, w.Code, w.Body, tt.want)
		}
		for name, want := range map[string]string{
			"Cross-Origin-Resource-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("host %q, %q: %s is %q, want %q", tt.host, tt.header, name, got, want)
			}
		}
	}
}
