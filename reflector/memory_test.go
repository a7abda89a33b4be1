package reflector_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
)

// inMemory serves a handler without a network, for a synctest bubble, and returns how
// to dial it.
func inMemory(t *testing.T, handler http.Handler) func(ctx context.Context, network, addr string) (net.Conn, error) {
	t.Helper()
	l := &memory{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler} // it needs no timeouts, because only the test can reach it
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.dial
}

// memory is a listener whose connections are pipes.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.conns <- server:
		return client, nil
	case <-m.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.conns:
		return conn, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error {
	close(m.closed)
	return nil
}

func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }
