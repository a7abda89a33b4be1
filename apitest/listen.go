package apitest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/relist-go/relist/internal/memnet"
)

// TB has the methods of a test that Start needs: *testing.T, *testing.B and *testing.F implement
// it. It is not testing.TB, so that a program which uses this package does not link package testing
// and its flags.
type TB interface {
	Helper()
	Cleanup(func())
	Fatal(args ...any)
}

// Start returns a server that listens on loopback until the test has ended, and its URL for a
// client. It is New and Listen and Close, in one line. Register a Cleanup that stops the client
// after Start, so that it runs before the server is closed.
func Start(t TB, opts Options) (server *Server, url string) {
	t.Helper()
	server = New(opts)
	closeAfter(t, server)
	listener, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal("start an API server for tests:", err)
	}
	return server, listener.URL
}

// closeAfter closes the server at the end of the test.
func closeAfter(t TB, server *Server) {
	t.Helper()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Fatal("close the API server for tests:", err)
		}
	})
}

// A Listener serves a Server or a Replica on a TCP address, or in memory ([StartInMemory]). Without
// TLS it speaks HTTP/1.1, and HTTP/2 if the client begins with HTTP/2.
type Listener struct {
	// URL is the address for clients: "http://127.0.0.1:40123".
	URL string
	// CA is the certificate of the authority that a client has to trust, in PEM. If the listener
	// has no TLS, CA is nil.
	CA []byte

	srv      *Server
	tls      *tls.Config // nil without TLS
	inMemory bool        // nothing listens: Dial makes the connections
	addr     string
	handler  http.Handler
	wg       sync.WaitGroup // the accept loop, the requests, and the connections in memory

	mu     sync.Mutex
	closed bool
	http   *http.Server            // nil while connections are refused
	port   net.Listener            // of http
	served map[net.Conn]struct{}   // connections in memory that http serves; each of them is counted in wg
	conns  map[*faultConn]struct{} // connections that are open or silent
}

// Listen serves s on addr. "127.0.0.1:0" chooses a free port. Listener.Close and Server.Close end
// it.
func (s *Server) Listen(addr string) (*Listener, error) { return s.listen(addr, s) }

// Listen serves r on addr. Each replica can have listeners of its own.
func (r *Replica) Listen(addr string) (*Listener, error) { return r.srv.listen(addr, r) }

func (s *Server) listen(addr string, handler http.Handler) (*Listener, error) {
	return s.listenAs(&Listener{srv: s, addr: addr, handler: handler})
}

func (s *Server) listenAs(l *Listener) (*Listener, error) {
	addr := l.addr
	l.served, l.conns = make(map[net.Conn]struct{}), make(map[*faultConn]struct{})
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

// open begins to accept connections. The first call chooses the port, and later calls use the same
// one.
func (l *Listener) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.http != nil {
		return nil
	}
	ln, err := l.bind()
	if err != nil {
		return err
	}
	if l.URL == "" { // it is set only once, because clients read it without the lock
		l.addr = ln.Addr().String()
		l.URL = "http://" + l.addr
		switch {
		case l.tls != nil:
			l.URL = "https://" + l.addr
		case l.inMemory:
			l.URL = memoryURL
		}
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(l.tls == nil)
	protocols.SetHTTP2(l.tls != nil)
	srv := &http.Server{ //nolint:gosec // a server for tests, whose clients may be as slow as a test wants
		TLSConfig:   l.tls.Clone(),
		ErrorLog:    log.New(io.Discard, "", 0), // it would only tell of clients that hang up in a handshake
		Protocols:   &protocols,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState:   l.countServed,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if !l.enter() {
				panic(http.ErrAbortHandler) // the request came while the connection was being closed
			}
			defer l.wg.Done()
			if c, ok := req.Context().Value(connKey{}).(net.Conn); ok && (spared(req) || strings.HasPrefix(req.URL.Path, faultsPath)) {
				if fault := faultConnOf(c); fault != nil {
					fault.spare()
				}
			}
			if err := l.srv.foreignHost(req); err != nil {
				writeError(w, err)
				return
			}
			l.handler.ServeHTTP(w, req)
		}),
	}
	l.http, l.port = srv, ln
	accepted := &faultListener{Listener: ln, of: l}
	l.wg.Go(func() {
		if l.tls != nil {
			_ = srv.ServeTLS(accepted, "", "") // as below
			return
		}
		_ = srv.Serve(accepted) // it returns ErrServerClosed when shut has closed srv
	})
	return nil
}

func (l *Listener) bind() (net.Listener, error) {
	if l.inMemory {
		return memnet.New(), nil
	}
	var config net.ListenConfig
	return config.Listen(context.Background(), "tcp", l.addr) // nothing to cancel: the address needs no lookup
}

// enter counts a request, and returns true. After Close, it returns false and does not count,
// because Close may be waiting for the last request.
func (l *Listener) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.wg.Add(1)
	return true
}

// shut closes the port and every connection. From then on, new connections are refused.
func (l *Listener) shut() error {
	l.mu.Lock()
	srv, port := l.http, l.port
	l.http, l.port = nil, nil
	l.mu.Unlock()
	if srv == nil {
		return nil
	}
	err := srv.Close()
	_ = port.Close() // srv does not close it if it has not begun to serve
	l.mu.Lock()
	defer l.mu.Unlock()
	// Some are silent, so closing them left the socket open. The others have become WebSockets,
	// which srv does not close any more.
	for c := range l.conns { // each is closed by itself: the order does not matter
		_ = c.Conn.Close()
	}
	clear(l.conns)
	return err
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// countServed counts the connections in memory in wg, so that Close returns when net/http has left
// them all: it lingers half a second on one whose request it has not read to the end, and a
// synctest bubble in which somebody lingers does not end.
func (l *Listener) countServed(c net.Conn, state http.ConnState) {
	if !l.inMemory {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew: // the accept loop, which calls this, is counted as well: wg is not zero
		l.served[c] = struct{}{}
		l.wg.Add(1)
	case http.StateClosed, http.StateHijacked: // one of both, and the last
		if _, ok := l.served[c]; ok {
			delete(l.served, c)
			l.wg.Done()
		}
	default: // it is in use
	}
}

// Close closes the port and every connection, and waits until the last request has ended.
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
