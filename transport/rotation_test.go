package transport_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/rotating"
	"github.com/relist-go/relist/transport"
)

// pipes is a network in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// TestRotation keeps a mirror for a minute in which everything that it was configured
// with is good for five seconds. Nothing is listed again, and a 401 is answered by
// another try, not by a storm of them.
func TestRotation(t *testing.T) {
	const life, rotations = 5 * time.Second, 12
	for _, kind := range rotating.Kinds {
		for _, protocol := range []transport.Protocol{transport.ProtocolHTTP1, transport.ProtocolHTTP2} {
			t.Run(string(kind)+" over "+protocol.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					world := rotating.New(t, kind, life)
					network := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
					stop := world.Serve(network)
					cfg := world.Config(rotating.Host)
					cfg.Dial, cfg.Protocol = network.Dial, protocol
					client, err := transport.NewClient(cfg)
					if err != nil {
						t.Fatal(err)
					}
					seen := world.Run(t.Context(), client, rotations)
					known := kind == rotating.ExecExpires || kind == rotating.Authority
					if known && seen.Unauthorized > 0 {
						t.Errorf("%d requests were refused, although it was known beforehand that they would be", seen.Unauthorized)
					}
					client.Close()
					stop()
					if err := world.API.Close(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
