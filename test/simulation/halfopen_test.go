package simulation

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// proxy forwards connections until it freezes those that there are: then it takes
// everything and passes nothing on. New connections are as good as ever.
type proxy struct {
	next func(ctx context.Context, network, addr string) (net.Conn, error)
	busy sync.WaitGroup

	mu    sync.Mutex
	ice   chan struct{} // closed to freeze the connections that have it
	conns []net.Conn
}

func newProxy(t *testing.T, next func(context.Context, string, string) (net.Conn, error)) *proxy {
	p := &proxy{next: next, ice: make(chan struct{})}
	t.Cleanup(func() {
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.busy.Wait()
	})
	return p
}

func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.ice)
	p.ice = make(chan struct{})
}

func (p *proxy) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	server, err := p.next(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	client, inner := net.Pipe()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, server, inner)
	p.forward(server, inner, p.ice)
	p.forward(inner, server, p.ice)
	return client, nil
}

// forward copies until from has ended, or for nobody once ice is closed.
func (p *proxy) forward(to, from net.Conn, ice <-chan struct{}) {
	p.busy.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := from.Read(buf)
			select {
			case <-ice: // not even the end is passed on
				_, _ = io.Copy(io.Discard, from)
				return
			default:
			}
			if err != nil {
				_ = to.Close()
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				_ = from.Close()
				return
			}
		}
	})
}
