package transport

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/internal/memnet"
	"github.com/relist-go/relist/internal/must"
)

// lossy is a connection of which the other end can vanish without a word: what is
// written goes nowhere, and nothing is read any more.
type lossy struct {
	net.Conn
	lost chan struct{} // closed: the other end is gone
	shut chan struct{} // closed: this end is closed
	once sync.Once
}

func (l *lossy) Write(p []byte) (int, error) {
	select {
	case <-l.lost:
		return len(p), nil
	default:
	}
	return l.Conn.Write(p)
}

func (l *lossy) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	select {
	case <-l.lost:
		<-l.shut
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (l *lossy) Close() error {
	l.once.Do(func() { close(l.shut) })
	return l.Conn.Close()
}

// TestPingFindsALostConnection loses the other end of an idle watch, in virtual
// time. The bubble fails the test if a goroutine is left.
func TestPingFindsALostConnection(t *testing.T) {
	tests := []struct {
		name       string
		idle, ping time.Duration
		want       time.Duration // 0: not found
	}{
		{"by default", 0, 0, 45 * time.Second},
		{"as configured", 5 * time.Second, 2 * time.Second, 7 * time.Second},
		{"pings are off", -1, 0, 0},
		{"pings without an end are off", 0, -1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network, lost := memnet.New(), make(chan struct{})
				stop := serveOn(network, holdOpen(`{}`))
				c, err := NewClient(Config{
					Server: "http://api.example", Protocol: ProtocolHTTP2, ReadIdleTimeout: tt.idle, PingTimeout: tt.ping,
					Dial: func(ctx context.Context, n, a string) (net.Conn, error) {
						conn, err := network.Dial(ctx, n, a)
						return &lossy{Conn: conn, lost: lost, shut: make(chan struct{})}, err
					},
				})
				must.OK(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				s, err := c.Watch(ctx, Request{Frames: jsonFrames, Path: "/"})
				must.OK(t, err)
				if _, err := s.Next(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				close(lost)
				begun := time.Now()
				_, err = s.Next()
				waited := time.Since(begun)
				found := tt.want != 0
				if !found {
					tt.want = time.Hour
				}
				if waited > tt.want || !found && waited < tt.want || err == nil {
					t.Errorf("found after %v, want %v: %v", waited, tt.want, err)
				}
				if errors.Is(err, context.DeadlineExceeded) == found {
					t.Errorf("error %v", err)
				}
				s.Close()
				c.Close()
				stop()
			})
		})
	}
}

// inBubble runs a test with a client and one WebSocket, in virtual time.
func inBubble(t *testing.T, cfg Config, serve func(s *serverSocket, over <-chan struct{}), f func(t *testing.T, s Stream)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New()
		over := make(chan struct{})
		stop := serveOn(network, upgrade(func(s *serverSocket) { serve(s, over) }))
		cfg.Server, cfg.WatchTransport = "http://api.example", WatchWebSocket
		cfg.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			client, server := net.Pipe() // without a buffer: what nobody reads cannot be sent
			return client, network.Connect(ctx, server)
		}
		c := newTestClient(t, cfg)
		s, err := c.Watch(t.Context(), Request{Frames: jsonFrames, Path: "/"})
		must.OK(t, err)
		f(t, s)
		s.Close()
		c.Close()
		close(over)
		stop()
	})
}

// A server that answers pings is left alone, however long it has nothing to say.
func TestPingsAreSentWhileNothingComes(t *testing.T) {
	var pings []time.Duration
	inBubble(t, Config{}, func(s *serverSocket, _ <-chan struct{}) {
		begun := time.Now()
		for {
			op, payload, err := s.receive()
			if err != nil {
				return
			}
			if op != opPing {
				t.Errorf("the client sent %x", op)
			}
			pings = append(pings, time.Since(begun))
			<-time.After(14 * time.Second)
			s.send(frame(opPong, true, payload))
			if len(pings) == 3 {
				s.send(text(`{}`), closing(1000, ""))
			}
		}
	}, func(t *testing.T, s Stream) {
		if f, err := s.Next(); err != nil || string(f.Data) != "{}" {
			t.Errorf("got %q, %v", f.Data, err)
		}
	})
	if len(pings) != 3 || pings[0] != 30*time.Second || pings[1] != 74*time.Second || pings[2] != 118*time.Second {
		t.Errorf("pings at %v, want 30 s after each sign of life", pings)
	}
}

func TestNoPongIsTheEnd(t *testing.T) {
	for name, serve := range map[string]func(*serverSocket, <-chan struct{}){
		"pings unanswered": func(s *serverSocket, _ <-chan struct{}) { s.drain() },
		"pings not read":   func(_ *serverSocket, over <-chan struct{}) { <-over },
		"half a message": func(s *serverSocket, _ <-chan struct{}) {
			s.send(frame(opText, false, `{"a"`))
			s.drain()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, serve, func(t *testing.T, s Stream) {
				begun := time.Now()
				_, err := s.Next()
				if !errors.Is(err, errNoPong) || errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
				checkError(t, err, "watch http://api.example/: ")
				if took := time.Since(begun); took != 45*time.Second {
					t.Errorf("it took %v, want 45 s", took)
				}
				if _, again := s.Next(); again == nil || again.Error() != err.Error() {
					t.Errorf("then %v", again)
				}
			})
		})
	}
}

// Any byte is a sign of life, and so is one that came while nobody was reading.
func TestPingsWaitForIdleTime(t *testing.T) {
	inBubble(t, Config{}, func(s *serverSocket, _ <-chan struct{}) {
		for range 5 {
			<-time.After(29 * time.Second)
			s.send(text("{}"))
		}
		s.send(closing(1000, ""))
		if op, _, err := s.receive(); err != nil || op != opClose {
			t.Errorf("the client sent %x, %v; want the answer to a close", op, err)
		}
	}, func(t *testing.T, s Stream) {
		for range 5 {
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour) // nobody waits for a pong now
		}
		_, _ = s.Next() // io.EOF
	})
}

func TestPingsOff(t *testing.T) {
	for _, cfg := range []Config{{ReadIdleTimeout: -1}, {PingTimeout: -1}} {
		inBubble(t, cfg, func(s *serverSocket, _ <-chan struct{}) {
			<-time.After(24 * time.Hour)
			s.send(text("{}"))
			s.drain()
		}, func(t *testing.T, s Stream) {
			if _, err := s.Next(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A server that floods the client with pings and reads no pong cannot hold it forever.
func TestPongsThatCannotBeSent(t *testing.T) {
	inBubble(t, Config{}, func(s *serverSocket, over <-chan struct{}) {
		s.send(frame(opPing, true, "?"))
		<-over
	}, func(t *testing.T, s Stream) {
		begun := time.Now()
		if _, err := s.Next(); !errors.Is(err, errNoPong) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begun); took != 15*time.Second {
			t.Errorf("it took %v, want 15 s", took)
		}
	})
}

// TestSocketClosedAtAnyTime closes streams and contexts while frames, pings
// and the handshake are under way, and leaves no goroutine.
func TestSocketClosedAtAnyTime(t *testing.T) {
	for i := range 60 {
		cfg := serveSockets(t, func(s *serverSocket) {
			for range i {
				s.send(text("{}"), frame(opPing, true, ""))
			}
			s.drain()
		})
		cfg.ReadIdleTimeout, cfg.PingTimeout = time.Microsecond, time.Duration(1+i)*time.Microsecond
		c := newTestClient(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		var ends sync.WaitGroup
		if i%3 == 0 {
			ends.Go(cancel)
		}
		s, err := c.Watch(ctx, Request{Frames: jsonFrames, Path: "/"})
		if err == nil {
			ends.Go(func() {
				for range i / 2 {
					runtime.Gosched()
				}
				s.Close()
			})
			ends.Go(func() { s.Close() })
			for {
				if _, err := s.Next(); err != nil {
					break
				}
			}
		}
		ends.Wait()
		cancel()
		c.Close()
	}
}
