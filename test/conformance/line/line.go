// Package line is the line between a client and its server, for tests that have to see what
// is asked for, or to decide when an answer arrives: it writes down each request, holds the
// events of watches back, and ends watches in good order, as a proxy does whose server goes
// away.
package line

import (
	"io"
	"net/http"
	"net/url"
	"sync"
)

// Line is an [http.RoundTripper] between a client and next. Its methods may be called from
// several goroutines.
type Line struct {
	next http.RoundTripper

	mu       sync.Mutex
	requests []Request
	streams  gate // what watches bring passes here
	sends    gate // requests pass here
	ended    chan struct{}
}

// Request is one that was sent.
type Request struct {
	Method, Path string
	Query        url.Values
}

// Watch reports whether it is for a watch.
func (r Request) Watch() bool { return r.Query.Has("watch") }

// New returns a line to what next reaches.
func New(next http.RoundTripper) *Line {
	return &Line{next: next, streams: newGate(), sends: newGate(), ended: make(chan struct{})}
}

// Requests returns what was sent so far, in order.
func (l *Line) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests[:len(l.requests):len(l.requests)]
}

// HoldEvents keeps back whatever watches bring from now on, until PassEvents.
func (l *Line) HoldEvents() { l.setGate(&l.streams, false) }

// PassEvents delivers what was held back, and all that follows.
func (l *Line) PassEvents() { l.setGate(&l.streams, true) }

// CloseWatches ends the open watches cleanly, and keeps requests waiting until Resume.
func (l *Line) CloseWatches() {
	l.setGate(&l.sends, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.ended)
	l.ended = make(chan struct{})
}

// Resume sends the requests that wait, and all that follow.
func (l *Line) Resume() { l.setGate(&l.sends, true) }

func (l *Line) setGate(g *gate, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.set(open)
}

func (l *Line) passage(g *gate) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return g.opened
}

// RoundTrip implements [http.RoundTripper].
func (l *Line) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-l.passage(&l.sends):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	r := Request{Method: req.Method, Path: req.URL.Path, Query: req.URL.Query()}
	l.mu.Lock()
	l.requests = append(l.requests, r)
	ended := l.ended
	l.mu.Unlock()
	resp, err := l.next.RoundTrip(req)
	if err == nil && r.Watch() {
		resp.Body = newStream(l, resp.Body, ended)
	}
	return resp, err
}

// gate lets pass, or not.
type gate struct {
	opened chan struct{} // closed while the gate is open
	isOpen bool
}

func newGate() gate {
	g := gate{opened: make(chan struct{}), isOpen: true}
	close(g.opened)
	return g
}

func (g *gate) set(open bool) {
	switch {
	case open == g.isOpen:
	case open:
		close(g.opened)
	default:
		g.opened = make(chan struct{})
	}
	g.isOpen = open
}

// stream is the body of a watch. A goroutine reads it, so that its end can be told while
// nothing comes.
type stream struct {
	line   *Line
	inner  io.ReadCloser
	chunks chan chunk
	now    chunk           // what Read has begun
	ended  <-chan struct{} // closed by Cancel
	closed chan struct{}
	once   sync.Once
}

type chunk struct {
	data []byte
	err  error
}

func newStream(l *Line, inner io.ReadCloser, ended <-chan struct{}) *stream {
	s := &stream{line: l, inner: inner, chunks: make(chan chunk), ended: ended, closed: make(chan struct{})}
	go s.read()
	return s
}

// read passes on what comes, until the stream ends or is closed, which ends a read that waits.
func (s *stream) read() {
	for {
		buffer := make([]byte, 32<<10)
		n, err := s.inner.Read(buffer)
		select {
		case s.chunks <- chunk{buffer[:n], err}:
		case <-s.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	for len(s.now.data) == 0 {
		if s.now.err != nil {
			return 0, s.now.err
		}
		if err := s.await(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.now.data)
	s.now.data = s.now.data[n:]
	return n, nil
}

// await takes the next chunk, and waits until it may pass.
func (s *stream) await() error {
	var next chunk
	select {
	case next = <-s.chunks:
	case <-s.ended:
		return io.EOF
	case <-s.closed:
		return http.ErrBodyReadAfterClose
	}
	select {
	case <-s.line.passage(&s.line.streams):
	case <-s.ended:
		return io.EOF
	case <-s.closed:
		return http.ErrBodyReadAfterClose
	}
	s.now = next
	return nil
}

// Close implements [io.Closer].
func (s *stream) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.inner.Close()
}
