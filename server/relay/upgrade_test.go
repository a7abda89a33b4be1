package relay

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relist-go/relist/transport/discovery"
)

const (
	webSocket = "Connection: Upgrade\nUpgrade: websocket\nSec-Websocket-Version: 13\nSec-Websocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
	spdy      = "Connection: Upgrade\nUpgrade: SPDY/3.1\nX-Stream-Protocol-Version: v4.channel.k8s.io"
	h2c       = "Connection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHttp2-Settings: AAMAAABkAAQAAP__"
)

// as sends a request with some headers, one a line.
func (r *rig) as(method, path, headers string) answer {
	r.Helper()
	return r.do(r.http, "http://localhost"+path, func(req *http.Request) {
		req.Method = method
		for line := range strings.Lines(headers) {
			if name, value, found := strings.Cut(strings.TrimSpace(line), ": "); found {
				req.Header.Add(name, value)
			}
		}
	})
}

// TestForeignPage shows that a web page of another origin gets nothing of any kind of request, and
// that the server is not asked for it. A page of the relay's own origin gets what a program gets.
func TestForeignPage(t *testing.T) {
	t.Parallel()
	play(t, Options{PassOn: true}, func(r *rig) {
		r.create("a", "n1")
		const watch = "/api/v1/pods?watch=1&resourceVersion=0&timeoutSeconds=1"
		for _, tt := range []struct {
			what, method, path, headers string
			want                        int // for a page of the relay itself
		}{
			{"health", "GET", "/readyz", "", 200},
			{"a list", "GET", "/api/v1/pods?resourceVersion=0", "", 200},
			{"an object, from the server", "GET", "/api/v1/namespaces/shop/pods/a", "", 200},
			{"a watch", "GET", watch, "", 200},
			{"a watch over WebSocket", "GET", watch, webSocket, 101},
			{"discovery", "GET", "/api/v1", "", 200},
			{"another resource", "GET", "/api/v1/configmaps", "", 200},
			{"a deletion", "DELETE", "/api/v1/namespaces/shop/configmaps/none", "", 404},
			{"exec", "GET", "/api/v1/namespaces/shop/pods/a/exec?command=sh", webSocket, 501},
		} {
			if got := r.as(tt.method, tt.path, tt.headers+"\nOrigin: http://localhost"); got.code != tt.want {
				t.Errorf("%s of the own origin: %+v, want %d", tt.what, got, tt.want)
			}
			for _, origin := range []string{
				"https://evil.example", "http://localhost:8080", "http://localhost.evil.example", "null", "%", "http://localhost\nOrigin: https://evil.example",
			} {
				r.forget()
				got := r.as(tt.method, tt.path, tt.headers+"\nOrigin: "+origin)
				if got.code != http.StatusForbidden || got.header.Get("Access-Control-Allow-Origin") != "" || r.count("") > 0 {
					t.Errorf("%s for a page of %q: %+v; the server was asked: %q", tt.what, origin, got, r.requests)
				}
			}
		}
	})
}

// TestUpgrade shows that the relay upgrades watches of its cache alone, says where others have to
// go, and ignores an offer of HTTP/2.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	namespaces := discovery.Resource{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace", Verbs: []string{"list", "watch"},
	}
	for _, passOn := range []bool{false, true} {
		play(t, Options{PassOn: passOn, Resources: []discovery.Resource{namespaces}}, func(r *rig) {
			r.create("a", "n1")
			const pod, watch = "/api/v1/namespaces/shop/pods/a", "/api/v1/pods?watch=1&timeoutSeconds=1&resourceVersion=0"
			for _, tt := range []struct {
				method, path, headers string
				want                  int
			}{
				{"GET", watch, webSocket, 101},
				{"GET", watch, webSocket + "\nAccept: application/json;as=Table;g=meta.k8s.io;v=v1", 501},
				{"GET", watch + "&fieldSelector=spec.none%3Dx", webSocket, 501},
				{"GET", "/api/v1/configmaps?watch=1", webSocket, 501},
				{"GET", pod + "/exec?command=sh", webSocket, 501},
				{"POST", pod + "/exec?command=sh", spdy, 501},
				{"POST", pod + "/attach", spdy, 501},
				{"POST", pod + "/portforward", spdy, 501},
				{"GET", pod, webSocket, 200}, // as at the server, where these paths have no upgrade
				{"GET", pod, h2c, 200},
				{"GET", "/api/v1/pods?resourceVersion=0", h2c, 200},
				{"GET", "/api/v1", h2c, 200},
			} {
				r.forget()
				got := r.as(tt.method, tt.path, tt.headers)
				refused := tt.want == http.StatusNotImplemented
				if got.code != tt.want || strings.Contains(got.body, "to the API server itself") != refused || refused && r.count("") > 0 {
					t.Errorf("%s %s as %q: %+v, want %d; the server was asked: %q", tt.method, tt.path, tt.headers, got, tt.want, r.requests)
				}
			}
		})
	}
}
