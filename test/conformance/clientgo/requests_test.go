package clientgo

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
)

// requests counts what the informers ask for, by kind and status.
type requests struct {
	signal
	mu     sync.Mutex
	counts map[string]int
}

// wrap counts the requests that go through a transport.
func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		query, kind, status := req.URL.Query(), "list", "failed"
		switch {
		case query.Get("sendInitialEvents") == "true":
			kind = "initial"
		case query.Get("watch") == "true":
			kind = "watch"
		}
		if err == nil {
			status = fmt.Sprint(resp.StatusCode)
			resp.Body = &listener{ReadCloser: resp.Body, heard: func() { r.add("too large") }}
		}
		r.add(kind + " " + status)
		return resp, err
	})
}

func (r *requests) add(what string) {
	r.mu.Lock()
	r.counts[what]++
	r.mu.Unlock()
	r.notify()
}

// A listener hears when a server says that it is behind: in a 504 to a list, in
// an ERROR event to a watch that asks for initial events.
type listener struct {
	io.ReadCloser
	heard func()
}

func (l *listener) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	// Servers send it in one write, alone.
	if bytes.Contains(p[:n], []byte("Too large resource version:")) {
		l.heard()
	}
	return n, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// syncs returns how often the whole state was asked for, and the server began to answer.
func (r *requests) syncs() int { return r.count("list 200") + r.count("initial 200") }

// tooLarge returns how often the server said that it is behind.
func (r *requests) tooLarge() int { return r.count("too large") }

func (r *requests) count(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[key]
}

func (r *requests) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.counts)
}

// await waits until the informers have done something, and ends the test if they do not.
func (r *requests) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if !r.signal.await(t, holds) {
		t.Fatalf("%s: not within %v; requests so far: %v", what, patience, r)
	}
}
