package transport

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/relist-go/relist/internal/must"
)

// A program with many reflectors lists all its types after an outage: a few at a time.
func TestMaxConcurrentGets(t *testing.T) {
	entered := make(chan struct{}, 10)
	server := wires[0].serve(t, func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		writeFrames(w, "{}")
	})
	server.MaxConcurrentGets = 2
	client := newTestClient(t, server)

	get := func(ctx context.Context) (*Response, error) { return client.Get(ctx, Request{Path: "/"}) }
	var held []*Response
	for range 2 {
		resp, err := get(t.Context())
		must.OK(t, err)
		held = append(held, resp)
		<-entered
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := get(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a third get returned %v while two were in progress", err)
	}
	if len(entered) != 0 {
		t.Error("the server saw it")
	}
	stream, err := client.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
	if err != nil {
		t.Fatalf("a watch had to wait: %v", err)
	}
	defer stream.Close()
	<-entered
	must.OK(t, held[0].Body.Close())
	third, err := get(t.Context())
	if err != nil {
		t.Fatalf("a get after one was over: %v", err)
	}
	for _, resp := range []*Response{held[1], third} {
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
