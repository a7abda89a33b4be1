package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/relist-go/relist/internal/memnet"
)

// TestNoStreamIsRefused begins ten watches at once where a connection may have two. A
// server would refuse the third on each, and it would come again after a second.
func TestNoStreamIsRefused(t *testing.T) {
	var most uint32
	converse(t, func(c *frameConn, stream uint32, path string) {
		most = max(most, stream)
		one(c, stream, path)
	}, func(v *conversation) {
		begun := time.Now()
		open := make(chan Stream, 10)
		var all sync.WaitGroup
		for i := range cap(open) {
			all.Go(func() {
				s, err := v.client.Watch(v.t.Context(), Request{Frames: jsonFrames, Path: fmt.Sprintf("/watch/%d", i)})
				if err != nil {
					v.t.Error(err)
					return
				}
				open <- s
			})
		}
		all.Wait()
		close(open)
		for s := range open {
			s.Close()
		}
		v.server.mu.Lock()
		defer v.server.mu.Unlock()
		if n := len(v.server.conns); n != 5 || most != 3 || time.Since(begun) != 0 {
			v.t.Errorf("%d connections with streams up to %d, after %v; want 5 with 1 and 3 at once", n, most, time.Since(begun))
		}
	}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
}

// protocols that come to the pool, each with its own way to make a connection.
var pooled = map[string]Config{
	"plain": {Server: "http://api.example", Protocol: ProtocolHTTP2},
	"TLS":   {Server: "https://api.example"},
}

// TestFailedConnectionIsOneFailure has twenty requests wait for one connection, which
// cannot be made. They do not try it one after the other.
func TestFailedConnectionIsOneFailure(t *testing.T) {
	for name, cfg := range pooled {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused := errors.New("refused")
				dialled := 0
				cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
					dialled++
					time.Sleep(20 * time.Second) //nolint:forbidigo // virtual time
					return nil, refused
				}
				c := newTestClient(t, cfg)
				begun := time.Now()
				var all sync.WaitGroup
				for range 20 {
					all.Go(func() {
						if err := getAll(t.Context(), c, "/"); !errors.Is(err, refused) {
							t.Errorf("error %v", err)
						}
					})
				}
				all.Wait()
				if took := time.Since(begun); dialled != 1 || took != 20*time.Second {
					t.Errorf("%d connections were tried, in %v", dialled, took)
				}
				if err := getAll(t.Context(), c, "/"); !errors.Is(err, refused) || dialled != 2 {
					t.Errorf("after that: %v, %d connections were tried", err, dialled)
				}
				c.Close()
			})
		})
	}
}

// TestWhoeverMakesAConnectionMayGoAway cancels the request that began to make it. The
// others have nothing to do with that, and wait for the same connection.
func TestWhoeverMakesAConnectionMayGoAway(t *testing.T) {
	for name, cfg := range pooled {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New()
				cert := newCert(t, nil, "api.example")
				certs := []tls.Certificate{cert}
				if name == "plain" {
					certs = nil
				}
				cfg.TLS.CAData = pemOf(cert.Certificate[0])
				stop := serveOn(network, func(http.ResponseWriter, *http.Request) {}, certs...)
				defer stop()
				dialled, goOn := 0, make(chan struct{})
				cfg.Dial = func(ctx context.Context, n, a string) (net.Conn, error) {
					dialled++
					select {
					case <-goOn:
						return network.Dial(ctx, n, a)
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				c := newTestClient(t, cfg)
				defer c.Close()
				ctx, cancel := context.WithCancel(t.Context())
				var all sync.WaitGroup
				all.Go(func() {
					if err := getAll(ctx, c, "/"); !errors.Is(err, context.Canceled) {
						t.Errorf("the first got %v", err)
					}
				})
				synctest.Wait()
				for range 5 {
					all.Go(func() {
						if err := getAll(t.Context(), c, "/"); err != nil {
							t.Error(err)
						}
					})
				}
				synctest.Wait()
				cancel()
				synctest.Wait()
				close(goOn)
				all.Wait()
				if dialled != 1 {
					t.Errorf("%d connections were made", dialled)
				}
			})
		})
	}
}

// TestConnectionThatNobodyWaitsForIsGivenUp cancels the only request that waits. Over TLS
// net/http finishes what it has begun, within DialTimeout.
func TestConnectionThatNobodyWaitsForIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		given := make(chan struct{})
		c := newTestClient(t, Config{Server: "http://api.example", Protocol: ProtocolHTTP2, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			close(given)
			return nil, ctx.Err()
		}})
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := getAll(ctx, c, "/"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		<-given
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it was given up after %v", took)
		}
	})
}

// TestRoomBeforeTheConnection has a request wait for a connection that cannot be made,
// while a stream becomes free on another.
func TestRoomBeforeTheConnection(t *testing.T) {
	converse(t, one, func(v *conversation) {
		ctx, cancel := context.WithCancel(v.t.Context())
		blackHole := func(context.Context, string, string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		v.client.Close()
		dial := v.server.Dial
		v.client = newTestClient(v.t, Config{Server: "http://api.example", Protocol: ProtocolHTTP2, Dial: func(ctx context.Context, n, a string) (net.Conn, error) {
			return dial(ctx, n, a)
		}})
		open := v.watch("/watch")
		dial = blackHole
		var waiting sync.WaitGroup
		for i := range 3 {
			waiting.Go(func() {
				if err := getAll(v.t.Context(), v.client, fmt.Sprintf("/get/%d", i)); err != nil {
					v.t.Error(err)
				}
			})
		}
		pass(5 * time.Second)
		begun := time.Now()
		open.Close()
		waiting.Wait()
		if took := time.Since(begun); took != 0 {
			v.t.Errorf("room was there, and they waited for another %v", took)
		}
		v.client.Close()
		cancel()
	}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
}

// TestGoAwayChance has a server that gives connections up at random, as kube-apiserver
// does with --goaway-chance. No request fails of it.
func TestGoAwayChance(t *testing.T) {
	var n atomic.Int32
	cfg := wire{tls: true, serverH2: true}.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%50 == 0 {
			w.Header().Set("Connection", "close") // a GOAWAY, over HTTP/2
		}
	})
	c := newTestClient(t, cfg)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 50 {
				if err := getAll(t.Context(), c, "/"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestOldServer has one that agrees to HTTP/1.1 only, and keeps back the headers of a
// watch. Nobody waits for them but the watch.
func TestOldServer(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	cfg := wire{tls: true, serverH2: false}.serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/watch" {
			close(arrived)
			<-release
		}
	})
	c := newTestClient(t, cfg)
	var watch sync.WaitGroup
	watch.Go(func() {
		s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/watch"})
		if err != nil {
			t.Error(err)
			return
		}
		s.Close()
	})
	<-arrived
	var gets sync.WaitGroup
	for range 20 {
		gets.Go(func() {
			if err := getAll(t.Context(), c, "/get"); err != nil {
				t.Error(err)
			}
		})
	}
	gets.Wait()
	close(release)
	watch.Wait()
}
