// Package memnet is a network in memory for tests, which works in [testing/synctest].
//
// A connection is one of package pipe, whose writes never wait. With those of [net.Pipe], two ends
// that write at the same time wait for each other for ever. They do so when a client refuses a
// certificate while the server is still writing it.
package memnet

import (
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/relist-go/relist/internal/pipe"
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
	client, server := pipe.New()
	return client, n.Connect(ctx, server)
}

// DialSlow connects by a [net.Pipe]: a server that writes waits until the client reads.
func (n *Network) DialSlow(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	return client, n.Connect(ctx, server)
}

// Connect gives the listener the server's end of a connection that the caller has made, for example
// to reset it later.
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
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(n) }) // it ends with ErrServerClosed
	return func() {
		_ = srv.Close()
		serving.Wait()
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
