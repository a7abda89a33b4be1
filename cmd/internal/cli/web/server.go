// Package web serves HTTP on an address for programs on the same machine or network, and refuses
// web pages of somebody else.
//
// Begin with Listen and Local.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server serves HTTP on an address, and leaves nothing behind when it is closed.
type Server struct {
	ln      net.Listener
	http    *http.Server
	running sync.WaitGroup // the accept loop and the connections
}

// Limits for clients that are slow, or ill-meaning.
const (
	headerTimeout = 5 * time.Second
	answerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

// Listen opens an address, such as "127.0.0.1:8081" or ":0". Who connects waits until
// Serve is called.
func Listen(ctx context.Context, addr string) (*Server, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for status requests: %w", err)
	}
	s := &Server{ln: ln}
	s.http = &http.Server{
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		// Close of an http.Server does not wait for the goroutines of its connections.
		// StateNew comes on the accept loop's goroutine, StateClosed at a connection's end.
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.running.Add(1)
			case http.StateClosed, http.StateHijacked:
				s.running.Done()
			default:
			}
		},
	}
	return s, nil
}

// URL is the address as a client wants it.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() }

// Serve begins to answer with h. It is called once at most. failed is called, from a
// goroutine of the Server, if that ends before Close.
func (s *Server) Serve(h http.Handler, failed func(error)) {
	s.http.Handler = h
	s.running.Go(func() {
		if err := s.http.Serve(s.ln); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("serve status requests on %s: %w", s.ln.Addr(), err))
		}
	})
}

// Close closes the address and every connection. All goroutines have ended when it
// returns.
func (s *Server) Close() {
	_ = s.http.Close()
	_ = s.ln.Close() // needed if Serve was not called
	s.running.Wait()
}
