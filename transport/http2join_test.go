package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/relist-go/relist/internal/memnet"
)

// TestServerTakesNoRequest has servers with whom one could make connections forever, as
// fast as the network allows.
func TestServerTakesNoRequest(t *testing.T) {
	for name, tt := range map[string]struct {
		settings []http2.Setting
		greet    func(c *frameConn)
		want     error
		conns    int
	}{
		"no streams":          {[]http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 0}}, nil, errNoUse, 1},
		"GOAWAY at once":      {nil, func(c *frameConn) { c.goAway(0, http2.ErrCodeNo) }, errNoUse, 1},
		"GOAWAY as an answer": {nil, nil, errGivenUp, maxSends},
		"GOAWAY, one stream":  {[]http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 1}}, nil, errGivenUp, maxSends},
		"hangs up":            {nil, (*frameConn).disconnect, io.ErrUnexpectedEOF, 1},
	} {
		for wire, cfg := range pooled {
			t.Run(name+", "+wire, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &frameServer{settings: tt.settings, greet: tt.greet, request: func(c *frameConn, _ uint32, _ string) {
						c.goAway(0, http2.ErrCodeNo)
					}}
					network := memnet.New()
					var ln net.Listener = network
					if wire == "TLS" {
						cert := newCert(t, nil, "api.example")
						cfg.TLS.CAData = pemOf(cert.Certificate[0])
						ln = tls.NewListener(network, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
					}
					defer s.start(ln)()
					tries := 0
					cfg.Dial = func(ctx context.Context, n, a string) (net.Conn, error) {
						if tries++; tries > 20 {
							return nil, errors.New("no end of connections")
						}
						return network.Dial(ctx, n, a)
					}
					c := newTestClient(t, cfg)
					defer c.Close()
					if err := getAll(t.Context(), c, "/"); !errors.Is(err, tt.want) || tries != tt.conns {
						t.Errorf("%v after %d connections, want %v after %d", err, tries, tt.want, tt.conns)
					}
				})
			})
		}
	}
}

// TestWaitForSettingsEndsWithTheRequest has a server that says nothing.
func TestWaitForSettingsEndsWithTheRequest(t *testing.T) {
	for wire, cfg := range pooled {
		t.Run(wire, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New()
				defer network.Close()
				var ln net.Listener = network
				if wire == "TLS" {
					cert := newCert(t, nil, "api.example")
					cfg.TLS.CAData = pemOf(cert.Certificate[0])
					ln = tls.NewListener(network, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
				}
				ended := make(chan struct{})
				defer func() { <-ended }()
				go func() {
					defer close(ended)
					conn, err := ln.Accept()
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, conn) // until the client hangs up
					_ = conn.Close()
				}()
				cfg.Dial = network.Dial
				c := newTestClient(t, cfg)
				defer c.Close()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begun := time.Now()
				err := getAll(ctx, c, "/")
				if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}

// TestAnswerIsTakenAndNotRoom has a request on its way over HTTP/1.1 when a stream of HTTP/2
// becomes free elsewhere. To take that would send the request twice.
func TestAnswerIsTakenAndNotRoom(t *testing.T) {
	p := newStreamPool(Config{})
	room := p.room.next()
	m := &making{cancel: func() {}, answer: make(chan answered, 1), done: make(chan struct{}), waiting: 1, sent: true}
	w := &waiter{pool: p, making: m, room: room, first: true}
	for range 100 { // a select chooses by chance
		p.room.fire()
		m.answer <- answered{err: io.ErrUnexpectedEOF}
		if _, err := w.wait(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) { //nolint:bodyclose // there is no response
			t.Fatalf("the outcome is %v, and not that of the request", err)
		}
		w.room, m.left = p.room.next(), false
	}
}

// TestPortOfPlainHTTP2 leaves the port away.
func TestPortOfPlainHTTP2(t *testing.T) {
	var dialled string
	refused := errors.New("refused")
	c := newTestClient(t, Config{Server: "http://api.example", Protocol: ProtocolHTTP2, Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
		dialled = addr
		return nil, refused
	}})
	if err := getAll(t.Context(), c, "/"); !errors.Is(err, refused) || dialled != "api.example:80" {
		t.Errorf("%q was dialled: %v", dialled, err)
	}
}
