package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/relist-go/relist/internal/hook"
	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
)

// TestCloseReachesConnectionsInUse closes the Client first and its streams later.
// The connections must go with the last of them, and not after IdleConnTimeout.
func TestCloseReachesConnectionsInUse(t *testing.T) {
	for _, protocol := range []Protocol{ProtocolHTTP1, ProtocolHTTP2} {
		t.Run(protocol.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New()
				stop := serveOn(network, holdOpen(`{}`))
				defer stop()
				var made []net.Conn
				c, err := NewClient(Config{Server: "http://api.example", Protocol: protocol, Dial: func(ctx context.Context, n, a string) (net.Conn, error) {
					conn, err := network.Dial(ctx, n, a)
					made = append(made, conn)
					return conn, err
				}})
				must.OK(t, err)
				var streams []Stream
				for range 3 {
					s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
					must.OK(t, err)
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
				network := memnet.New()
				stop := serveOn(network, holdOpen(`{}`))
				defer stop()
				c, err := NewClient(Config{Server: "http://api.example", Protocol: protocol, Dial: network.Dial})
				must.OK(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				s, err := c.Watch(ctx, Request{Frames: jsonFrames, Path: "/"})
				must.OK(t, err)
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

// A connection counts as gone once it is broken, and not because its answer is whole. The next
// request, which net/http may send again by itself, has the new connection.
func TestConnHook(t *testing.T) {
	for name, cfg := range map[string]Config{
		"plain, HTTP/1.1": {Server: "http://api.example"},
		"plain, HTTP/2":   {Server: "http://api.example", Protocol: ProtocolHTTP2},
		"TLS, HTTP/1.1":   {Server: "https://api.example", Protocol: ProtocolHTTP1},
		"TLS, HTTP/2":     {Server: "https://api.example"},
	} {
		inBubble := func(t *testing.T) {
			network, dialled := memnet.New(), []net.Conn(nil)
			var certs []tls.Certificate
			if strings.HasPrefix(cfg.Server, "https") {
				certs = append(certs, newCert(t, nil, "api.example"))
				cfg.TLS.CAData = pemOf(certs[0].Certificate[0])
			}
			defer serveOn(network, func(w http.ResponseWriter, _ *http.Request) { writeFrames(w, `{"n":1}`) }, certs...)()
			cfg.Dial = func(ctx context.Context, proto, addr string) (net.Conn, error) {
				conn, err := network.Dial(ctx, proto, addr)
				dialled = append(dialled, conn)
				return conn, err
			}
			c := newTestClient(t, cfg)
			defer c.Close()
			var answers []func() bool
			get := func() error {
				return getAll(hook.With[hook.Conn](t.Context(), func(gone func() bool) { answers = append(answers, gone) }), c, "/")
			}
			for range 2 {
				must.OK(t, get())
			}
			synctest.Wait()
			if len(dialled) != 1 || len(answers) != 2 || answers[0]() || answers[1]() {
				t.Fatalf("%d connections were made, those of %d answers are known, or one is gone; want one that is not", len(dialled), len(answers))
			}
			_ = dialled[0].Close()
			if get() != nil { // over HTTP/2 the request that finds it out may fail
				must.OK(t, get())
			}
			if len(answers) != 3 || !answers[0]() || !answers[1]() || answers[2]() {
				t.Error("the connection that was broken is not gone, or the one after it is")
			}
		}
		t.Run(name, func(t *testing.T) { synctest.Test(t, inBubble) })
	}
}

// A RoundTripper of the program's makes connections of which nothing is known.
func TestConnHookWithARoundTripper(t *testing.T) {
	cfg := serve(t, func(http.ResponseWriter, *http.Request) {})
	cfg.RoundTripper = http.DefaultTransport
	ctx := hook.With[hook.Conn](t.Context(), func(func() bool) { t.Error("a connection is known") })
	if err := getAll(ctx, newTestClient(t, cfg), "/"); err != nil {
		t.Error(err)
	}
}
