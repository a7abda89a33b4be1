package transport

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A server allows ten streams on a connection, and a program wants fifty watches
// and short requests beside them, while nobody reads the watches. None waits for another: there are more
// connections. https://github.com/kubernetes/client-go/issues/456
func TestProblem33StreamLimit(t *testing.T) {
	const watches, gets = 50, 200
	done := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/get" {
			_, _ = io.WriteString(w, "{}")
			return
		}
		writeFrames(w, `{"type":"BOOKMARK"}`)
		if r.URL.Path == "/unread" {
			// More than the client's window takes: this blocks, and must block nobody else.
			_, _ = io.WriteString(w, strings.Repeat(" ", 8<<20))
		}
		select {
		case <-done:
		case <-r.Context().Done():
		}
	}))
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 10}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	defer close(done)
	client := newTestClient(t, Config{Server: server.URL, Protocol: ProtocolHTTP2, TLS: TLSConfig{CAData: pemOf(server.Certificate().Raw)}})
	defer client.Close() // or the server waits for its connections

	for i := range watches {
		path := "/watch"
		if i%10 == 0 {
			path = "/unread"
		}
		stream, err := client.Watch(t.Context(), Request{Path: path})
		if err != nil {
			t.Fatalf("watch %d: %v", i, err)
		}
		defer stream.Close() //nolint:errcheck // all of them stay open to the end
		if _, err := stream.Next(); err != nil {
			t.Fatalf("watch %d: %v", i, err)
		}
	}
	var group sync.WaitGroup
	for range gets {
		group.Go(func() {
			resp, err := client.Get(t.Context(), Request{Path: "/get"})
			if err != nil {
				t.Errorf("get: %v", err)
				return
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Errorf("get: %v", err)
			}
			_ = resp.Body.Close()
		})
	}
	group.Wait()
}
