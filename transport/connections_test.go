package transport

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
)

// TestCloseReachesConnectionsInUse closes the Client first and its streams later.
// The connections must go with the last of them, and not after IdleConnTimeout.
func TestCloseReachesConnectionsInUse(t *testing.T) {
	for _, protocol := range []Protocol{ProtocolHTTP1, ProtocolHTTP2} {
		t.Run(protocol.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := newNetwork()
				stop := serveOn(network, holdOpen(`{}`))
				defer stop()
				var made []net.Conn
				c, err := NewClient(Config{Server: "http://api.example", Protocol: protocol, Dial: func(ctx context.Context, n, a string) (net.Conn, error) {
					conn, err := network.Dial(ctx, n, a)
					made = append(made, conn)
					return conn, err
				}})
				if err != nil {
					t.Fatal(err)
				}
				var streams []Stream
				for range 3 {
					s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
					if err != nil {
						t.Fatal(err)
					}
					streams = append(streams, s)
				}
				c.Close()
				for _, s := range streams {
					if _, err := s.Next(); err != nil {
						t.Errorf("a stream ended with the Client: %v", err)
					}
				}
				for _, s := range streams {
					s.Close()
				}
				for i, conn := range made {
					if _, err := conn.Write(nil); err == nil {
						t.Errorf("connection %d of %d is open still", i, len(made))
					}
				}
				synctest.Wait()
				if n := len(c.connections.current.conns.open); n != 0 {
					t.Errorf("%d connections are remembered", n)
				}
			})
		})
	}
}

// TestCancelledStreamFreesItsConnection has a caller who ends the context of a
// stream and forgets to close it. Close of the Client must not wait for that.
func TestCancelledStreamFreesItsConnection(t *testing.T) {
	for _, protocol := range []Protocol{ProtocolHTTP1, ProtocolHTTP2} {
		t.Run(protocol.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := newNetwork()
				stop := serveOn(network, holdOpen(`{}`))
				defer stop()
				c, err := NewClient(Config{Server: "http://api.example", Protocol: protocol, Dial: network.Dial})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				s, err := c.Watch(ctx, Request{Frames: jsonFrames, Path: "/"})
				if err != nil {
					t.Fatal(err)
				}
				cancel()
				c.Close()
				synctest.Wait()
				if n := len(c.connections.current.conns.open); n != 0 {
					t.Errorf("%d connections are open", n)
				}
				if _, err := s.Next(); !errors.Is(err, context.Canceled) {
					t.Errorf("Next returned %v", err)
				}
				s.Close() // late, and no harm
				if n := c.connections.current.conns.active; n != 0 {
					t.Errorf("%d exchanges are counted", n)
				}
			})
		})
	}
}
