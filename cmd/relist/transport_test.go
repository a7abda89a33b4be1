package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/cmd/internal/cli"
)

// TestMirrorTransport looks at how the watch is asked for. The last server stands behind
// a proxy that knows no WebSockets.
func TestMirrorTransport(t *testing.T) {
	for _, tt := range []struct {
		args    string
		strip   bool
		asked   []string // Upgrade of each watch
		problem string   // on stderr
	}{
		{"", false, []string{""}, ""},
		{"--transport http", false, []string{""}, ""},
		{"--transport websocket", false, []string{"websocket"}, ""},
		{"--transport websocket", true, []string{"websocket", ""}, "over WebSocket: the handshake was answered with 200 and \"application/vnd.kubernetes.protobuf;stream=watch\"; watches go over HTTP"},
	} {
		server := apitest.New(apitest.Options{})
		createConfigMap(t, server, "a", "one")
		var mu sync.Mutex
		var asked []string
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") != "" {
				mu.Lock()
				asked = append(asked, r.Header.Get("Upgrade"))
				mu.Unlock()
			}
			if tt.strip {
				r.Header.Del("Upgrade")
			}
			server.ServeHTTP(w, r)
		}))
		p := start(t, append(strings.Fields("mirror cm -A -o json --server "+front.URL), strings.Fields(tt.args)...)...)
		p.await(`"kind":"synced"`)
		createConfigMap(t, server, "a", "two")
		p.await(`"type":"Added"`)
		r := p.interrupt()
		if r.status != cli.ExitOK || strings.Count(r.stderr, "\n") > 1 || (tt.problem == "") != (r.stderr == "") || !strings.Contains(r.stderr, tt.problem) || tt.problem != "" && !strings.HasPrefix(r.stderr, "relist: ") {
			t.Errorf("%s: status %d, stderr %q, want %q", tt.args, r.status, r.stderr, tt.problem)
		}
		mu.Lock()
		if !slices.Equal(asked, tt.asked) {
			t.Errorf("%s: watches asked for with %q, want %q", tt.args, asked, tt.asked)
		}
		mu.Unlock()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		front.Close()
	}
}
