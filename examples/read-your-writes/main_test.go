package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/transport"
)

// The program never meets a state older than its own last write: no write is refused, and each
// number is the next.
func TestCountsToTen(t *testing.T) {
	var mu sync.Mutex
	refused := 0
	_, url := apitest.Start(t, apitest.Options{Log: func(r apitest.LoggedRequest) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodGet && r.Status >= 300 {
			refused++
		}
	}})
	var out strings.Builder
	if err := run(t.Context(), url, &out); err != nil {
		t.Fatal(err)
	}
	if want := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"; out.String() != want {
		t.Errorf("printed %q", out.String())
	}
	mu.Lock()
	defer mu.Unlock()
	if refused > 0 {
		t.Errorf("%d writes were refused", refused)
	}
}

// Two programs count in one ConfigMap. No number is written twice, and what else is in the
// ConfigMap stays.
func TestTwoCounters(t *testing.T) {
	server, url := apitest.Start(t, apitest.Options{})
	_, err := server.Create("configmaps", map[string]any{"metadata": map[string]any{"namespace": "default", "name": "counter"}, "binaryData": map[string]any{"a": "Yg=="}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := transport.NewClient(transport.Config{Server: url})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	const each = 30
	var running, counting sync.WaitGroup
	var mu sync.Mutex
	var last *Counter
	var most int
	for range 2 {
		c, err := NewCounter(client, "default/counter")
		if err != nil {
			t.Fatal(err)
		}
		last = c
		running.Go(func() { _ = c.configMaps.Run(ctx) })
		counting.Go(func() {
			before := 0
			for range each {
				n, err := c.Raise(ctx)
				if err != nil || n <= before {
					t.Errorf("%d after %d, %v", n, before, err)
				}
				before = n
			}
			mu.Lock()
			defer mu.Unlock()
			most = max(most, before)
		})
	}
	counting.Wait() // the last number may be written while the other program still waits to see its own
	stop()
	running.Wait()
	has, _ := last.configMaps.Store().Get("default/counter")
	if most != 2*each || has == nil {
		t.Errorf("counted to %d", most)
	}
	got, err := last.configMaps.MergePatch(t.Context(), "default/counter", []byte(`{}`))
	if err != nil || number(got) != 2*each {
		t.Errorf("the server has %+v, %v", got, err)
	}
}

func TestBadServer(t *testing.T) {
	if err := run(t.Context(), "ftp://x", nil); err == nil || !strings.Contains(err.Error(), "not an http") {
		t.Errorf("error %v", err)
	}
}
