package apitest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// A Listener serves a handler on a TCP address: HTTP/1.1, and HTTP/2 without TLS for clients that begin with it.
type Listener struct {
	// URL is the address as a client wants it: "http://127.0.0.1:40123".
	URL string

	srv     *Server
	addr    string
	handler http.Handler
	wg      sync.WaitGroup // the accept loop and the requests

	mu      sync.Mutex
	closed  bool
	http    *http.Server          // nil while connections are refused
	port    net.Listener          // of http
	sockets map[net.Conn]struct{} // what has been taken from http
}

// Listen serves s on addr; "127.0.0.1:0" chooses a free port. Close of the server or of the listener ends it.
func (s *Server) Listen(addr string) (*Listener, error) { return s.listen(addr, s) }

// Listen serves r on addr, at the same time as other replicas on theirs.
func (r *Replica) Listen(addr string) (*Listener, error) { return r.srv.listen(addr, r) }

func (s *Server) listen(addr string, handler http.Handler) (*Listener, error) {
	l := &Listener{srv: s, addr: addr, handler: handler}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("listen for API requests on %s: %w", addr, err)
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.listeners[l] = struct{}{}
	}
	s.mu.Unlock()
	if closed {
		return nil, errors.Join(fmt.Errorf("listen for API requests on %s: the server is closed", addr), l.Close())
	}
	return l, nil
}

// open starts to accept. After the first time, it does so on the port that was chosen then.
func (l *Listener) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.http != nil {
		return nil
	}
	var config net.ListenConfig
	ln, err := config.Listen(context.Background(), "tcp", l.addr) // an address of numbers: there is no lookup to wait for
	if err != nil {
		return err
	}
	if l.URL == "" { // later it is the same, and read without the lock
		l.addr = ln.Addr().String()
		l.URL = "http://" + l.addr
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{
		Protocols:   &protocols,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState:   l.connState,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if !l.enter() {
				panic(http.ErrAbortHandler) // it was read as the connection was closed
			}
			defer l.wg.Done()
			defer l.over(req)
			if err := l.srv.foreignHost(req); err != nil {
				writeError(w, err)
				return
			}
			l.handler.ServeHTTP(w, req)
		}),
	}
	l.http, l.port = srv, ln
	l.wg.Add(1)
	go func() {
		defer l.wg.Done()
		_ = srv.Serve(ln) // it ends with ErrServerClosed, by shut
	}()
	return nil
}

// enter counts a request, unless Close may already be waiting for the last one.
func (l *Listener) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.wg.Add(1)
	return true
}

// shut closes the port and every connection, so that the next one is refused.
func (l *Listener) shut() error {
	l.mu.Lock()
	srv, port := l.http, l.port
	l.http, l.port = nil, nil
	for c := range l.sockets { // in any order: they have nothing to do with each other
		_ = c.Close() // who uses it learns of it
	}
	clear(l.sockets)
	l.mu.Unlock()
	if srv == nil {
		return nil
	}
	err := srv.Close()
	_ = port.Close() // what srv has not begun to serve, it does not close
	return err
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// connState takes note of a connection that becomes a WebSocket: net/http does not close it any more.
func (l *Listener) connState(c net.Conn, state http.ConnState) {
	if state != http.StateHijacked {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.http == nil {
		_ = c.Close() // it was taken as the others were closed
		return
	}
	if l.sockets == nil {
		l.sockets = make(map[net.Conn]struct{})
	}
	l.sockets[c] = struct{}{}
}

// over forgets the connection of a request that has ended.
func (l *Listener) over(req *http.Request) {
	if c, ok := req.Context().Value(connKey{}).(net.Conn); ok {
		l.mu.Lock()
		delete(l.sockets, c)
		l.mu.Unlock()
	}
}

// Close stops accepting, closes every connection and waits until the requests in progress have ended.
func (l *Listener) Close() error {
	l.srv.mu.Lock()
	delete(l.srv.listeners, l)
	l.srv.mu.Unlock()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	err := l.shut()
	l.wg.Wait()
	return err
}
