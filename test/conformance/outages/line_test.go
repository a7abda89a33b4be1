package outages

import (
	"io"
	"net/http"
	"sync"
)

// line is between a client and its server: it writes down each request, and ends watches cleanly,
// as a proxy does whose server goes away.
type line struct {
	next http.RoundTripper

	mu       sync.Mutex
	requests []*http.Request
	watches  []*io.PipeWriter
}

// sent returns the requests so far, in order.
func (l *line) sent() []*http.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests[:len(l.requests):len(l.requests)]
}

// closeWatches ends the open watches.
func (l *line) closeWatches() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.watches {
		_ = w.Close()
	}
	l.watches = nil
}

// RoundTrip implements [http.RoundTripper].
func (l *line) RoundTrip(req *http.Request) (*http.Response, error) {
	l.mu.Lock()
	l.requests = append(l.requests, req)
	l.mu.Unlock()
	resp, err := l.next.RoundTrip(req)
	if err != nil || !isWatch(req) {
		return resp, err
	}
	out, in := io.Pipe()
	l.mu.Lock()
	l.watches = append(l.watches, in)
	l.mu.Unlock()
	go func(body io.ReadCloser) {
		_, err := io.Copy(in, body)
		_ = in.CloseWithError(err)
		_ = body.Close()
	}(resp.Body)
	resp.Body = out
	return resp, nil
}

func isWatch(req *http.Request) bool { return req.URL.Query().Has("watch") }
