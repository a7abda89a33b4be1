package status

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// network is one in memory: a listener, and a dial that reaches it. Time on it is that
// of a synctest bubble.
type network struct {
	conns chan net.Conn
	done  chan struct{}
	close sync.Once
}

// serveInMemory serves h until the test ends, and returns how to reach it.
func serveInMemory(t *testing.T, h http.Handler) (dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	n := &network{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(n) // ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-ended
	})
	return n.dial
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.conns <- server:
		return client, nil
	case <-n.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.close.Do(func() { close(n.done) })
	return nil
}

func (*network) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }
