package simulation

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relist-go/relist/apitest"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/transport"
)

// A connection of which neither end hears anything any more, and that nobody closes,
// is noticed in time on every version of HTTP, and the watch continues where it was.
var halfOpen = []struct {
	name string
	cfg  transport.Config
	opts reflector.Options

	// bound is within which it is noticed, as documented: on HTTP/1.1 the longest
	// timeout that is asked for and ten seconds, unless bookmarks came and the idle time
	// after them was too long before; on HTTP/2 the idle time before a ping and the wait
	// for its answer.
	bound time.Duration
}{
	{"HTTP/1.1", transport.Config{Protocol: transport.ProtocolHTTP1}, reflector.Options{}, 10*time.Minute + 10*time.Second},
	{"HTTP/2", transport.Config{Protocol: transport.ProtocolHTTP2}, reflector.Options{}, 45 * time.Second},
	{"HTTP/1.1, short", transport.Config{Protocol: transport.ProtocolHTTP1}, reflector.Options{MinWatchTimeout: time.Second}, 12 * time.Second},
	{"HTTP/2, short", transport.Config{Protocol: transport.ProtocolHTTP2, ReadIdleTimeout: 500 * time.Millisecond, PingTimeout: 500 * time.Millisecond}, reflector.Options{}, time.Second},
}

func TestHalfOpen(t *testing.T) {
	for _, c := range halfOpen {
		synctest.Test(t, func(t *testing.T) {
			srv := apitest.New(apitest.Options{})
			network := serveMemory(t, srv)
			t.Cleanup(func() { _ = srv.Close() })
			p := newProxy(t, network.dial)
			c.cfg.Server, c.cfg.Dial = "http://relist.test", p.dial
			took := resumes(t, srv, p, configMaps(t, c.cfg), c.opts)
			t.Logf("%s: noticed after %s", c.name, took)
			if took > c.bound {
				t.Errorf("%s: noticed after %s, want %s at most", c.name, took, c.bound)
			}
		})
	}
}

// resumes cuts a reflector off and returns how long it was until it noticed. It fails
// the test if the reflector then does anything but continue with its watch.
func resumes(t *testing.T, srv *apitest.Server, p *proxy, lw source.ListWatcher[*configMap], opts reflector.Options) time.Duration {
	t.Helper()
	const objects, missed = 50, 7
	w := newLagged(t, srv)
	for i := range objects {
		w.create(fmt.Sprintf("c%02d", i), map[string]any{})
	}
	var lists int // of the reflector's goroutine until it has stopped
	open := make(chan struct{}, 100)
	noticed := make(chan time.Time, 100)
	opts.Trace = &reflector.Trace{
		ListStart: func(reflector.ListStart) { lists++ },
		WatchOpen: func() { open <- struct{}{} },
		WatchEnd:  func(reflector.WatchEnd) { noticed <- time.Now() },
	}
	m := startMirror(t, lw, opts, nil)
	select {
	case <-open:
	case <-time.After(time.Minute):
		t.Fatalf("the watch is not open after a minute: %+v", m.Status())
	}
	m.await("default/c00", w.update("c00", map[string]any{"n": "1"}), time.Minute)
	before, _ := m.told()
	p.freeze()
	began := time.Now()
	var version string
	for i := range missed {
		version = w.update(fmt.Sprintf("c%02d", i), map[string]any{"n": "2"})
	}
	m.await(fmt.Sprintf("default/c%02d", missed-1), version, time.Hour)
	m.halt()
	after, _ := m.told()
	if after-before != missed || lists != 1 {
		t.Errorf("%d deltas and %d lists, want the %d changes that were missed and the first list", after-before, lists, missed)
	}
	m.start() // the mirror's own end stops it
	return (<-noticed).Sub(began)
}

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
