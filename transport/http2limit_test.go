package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Fifty watches and two hundred short requests begin together and find no connection yet, and ten
// streams are allowed on each. Every watch stays open, and no short request waits for one to end.
// No stream is refused: that is tried again only after a second, two, four.
func TestBurstBeyondTheStreamLimit(t *testing.T) {
	const watches, gets, streams = 50, 200, 10
	done := make(chan struct{})
	var mu sync.Mutex
	connections := make(map[string]bool)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		if r.URL.Path == "/get" {
			_, _ = io.WriteString(w, "{}")
			return
		}
		writeFrames(w, `{"type":"BOOKMARK"}`)
		select {
		case <-done:
		case <-r.Context().Done():
		}
	}))
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	defer close(done)
	for _, protocol := range []Protocol{ProtocolAuto, ProtocolHTTP2} {
		client := newTestClient(t, Config{Server: server.URL, Protocol: protocol, TLS: TLSConfig{CAData: pemOf(server.Certificate().Raw)}})
		defer client.Close() // or the server waits for its connections
		open := make(chan Stream, watches)
		var all sync.WaitGroup
		for range watches {
			all.Go(func() {
				s, err := client.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/watch"})
				if err != nil {
					t.Errorf("watch: %v", err)
					return
				}
				open <- s
				if _, err := s.Next(); err != nil {
					t.Errorf("watch: %v", err)
				}
			})
		}
		for range gets {
			all.Go(func() {
				if err := getAll(t.Context(), client, "/get"); err != nil {
					t.Errorf("get: %v", err)
				}
			})
		}
		all.Wait()
		if len(open) != watches {
			t.Errorf("%v: %d watches are open, want %d", protocol, len(open), watches)
		}
		// All streams are in use but a few, and the next requests find a place.
		for range streams {
			if err := getAll(t.Context(), client, "/get"); err != nil {
				t.Errorf("get: %v", err)
			}
		}
		close(open)
		for s := range open {
			s.Close()
		}
		mu.Lock()
		if n := len(connections); n > 2*(watches+gets)/streams {
			t.Errorf("%v: %d connections", protocol, n)
		}
		clear(connections)
		mu.Unlock()
	}
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
