// Package memnet is a network in memory for tests, which works in [testing/synctest].
//
// A connection is a [net.Pipe], except that what the client writes is taken from it at
// once. In a pipe alone, two ends that write at the same time wait for each other for ever,
// as they do when a client refuses a certificate of which the server is still writing the
// rest.
package memnet

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Network is a listener, and a Dial that reaches it.
type Network struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// New returns a network that listens.
func New() *Network {
	return &Network{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Dial connects to the listener, whatever the address is.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	if err := n.Connect(ctx, server); err != nil {
		return nil, err
	}
	return newEager(client), nil
}

// Connect gives the listener the server's end of a connection that Dial would not make: one that
// can be reset, say.
func (n *Network) Connect(ctx context.Context, server net.Conn) error {
	select {
	case n.conns <- server:
		return nil
	case <-n.done:
		return net.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Serve serves HTTP until stop is called.
func (n *Network) Serve(srv *http.Server) (stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(n) // it ends with ErrServerClosed
	}()
	return func() {
		_ = srv.Close()
		<-ended
	}
}

// Accept implements net.Listener.
func (n *Network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

// Close ends the listener; connections stay.
func (n *Network) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

// Addr implements net.Listener.
func (n *Network) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// eager is a connection of which a Write does not wait for the other end.
type eager struct {
	net.Conn

	once sync.Once
	done chan struct{} // closed: no more is taken

	mu      sync.Mutex
	pending [][]byte
	more    chan struct{} // holds one: something is pending
}

func newEager(conn net.Conn) *eager {
	e := &eager{Conn: conn, done: make(chan struct{}), more: make(chan struct{}, 1)}
	go e.pump()
	return e
}

// pump ends with the connection, which its owner closes.
func (e *eager) pump() {
	for {
		select {
		case <-e.more:
		case <-e.done:
			return
		}
		e.mu.Lock()
		pending := e.pending
		e.pending = nil
		e.mu.Unlock()
		for _, b := range pending {
			if _, err := e.Conn.Write(b); err != nil {
				return // the reader is told
			}
		}
	}
}

func (e *eager) Write(b []byte) (int, error) {
	select {
	case <-e.done:
		return 0, net.ErrClosed
	default:
	}
	e.mu.Lock()
	e.pending = append(e.pending, append([]byte(nil), b...))
	e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default: // pump has been told
	}
	return len(b), nil
}

func (e *eager) Close() error {
	e.once.Do(func() { close(e.done) })
	return e.Conn.Close()
}
