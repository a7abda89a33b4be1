package transport

import (
	"context"
	"errors"
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
	const watches, callers, gets = 50, 10, 20
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
		defer stream.Close() // all of them stay open to the end
		if _, err := stream.Next(); err != nil {
			t.Fatalf("watch %d: %v", i, err)
		}
	}
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range gets {
				if err := getAll(t.Context(), client, "/get"); err != nil {
					t.Errorf("get: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
}

// getAll gets a path and reads the answer to its end.
func getAll(ctx context.Context, client *Client, path string) error {
	resp, err := client.Get(ctx, Request{Path: path})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}
