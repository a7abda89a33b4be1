package transport

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
)

// generation is a set of connections that were made with one identity. When the
// identity is replaced, requests go to a new generation. The old one ends with its last
// exchange, so that no watch is cut off because its certificate has a successor.
type generation struct {
	http.RoundTripper
	identity  identity
	closeIdle func()
	conns     *conns

	// What the connections are made with; nil where the user's RoundTripper makes
	// them, and tls also where they are plain.
	dial  dialFunc
	proxy func(*http.Request) (*url.URL, error)
	tls   *tls.Config
}

// retire lets the generation go. Nothing new begins on it.
func (g *generation) retire() {
	g.closeIdle()
	g.conns.retire()
}

// close closes the connections that nothing uses now, and the others when nothing uses
// them any more.
func (g *generation) close() {
	g.closeIdle()
	g.conns.close()
}

// dialFunc makes a connection, as net.Dialer.DialContext does.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// conns holds the open connections of a generation, and counts the exchanges that use
// them. net/http closes a connection only if it is idle when it is asked to. A
// connection of HTTP/2 whose stream was just closed may not be idle yet, and would stay
// open for idleConnTimeout. Here, a close that comes too early takes effect when the
// last exchange ends.
type conns struct {
	mu      sync.Mutex
	open    map[*trackedConn]struct{}
	active  int  // exchanges begun and not ended
	closing bool // close was called, and no exchange has begun since
	retired bool // closing is for good
}

// trackedConn is a connection that leaves the set when it is closed.
type trackedConn struct {
	net.Conn
	set *conns
}

func (c *trackedConn) Close() error {
	c.set.mu.Lock()
	delete(c.set.open, c)
	c.set.mu.Unlock()
	return c.Conn.Close()
}

func (c *trackedConn) gone() bool {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	_, open := c.set.open[c]
	return !open
}

// noteConn is called when a connection for the request is there: more than once, if the request is
// sent again.
func (a *attempt) noteConn(info httptrace.GotConnInfo) { a.conn.Store(&info.Conn) }

// tellConn tells who asked over which connection the answer comes. If the user's RoundTripper makes
// the connections, nothing is known of them.
func (x *exchange) tellConn() {
	conn := x.last.conn.Load()
	if conn == nil {
		return
	}
	if gone := goneOf(*conn); gone != nil {
		x.onConn(gone)
	}
}

// goneOf returns what reports whether a connection was closed, nil if it was made elsewhere.
func goneOf(conn net.Conn) (gone func() bool) {
	for {
		if c, ok := conn.(interface{ gone() bool }); ok {
			return c.gone
		}
		tls, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = tls.NetConn()
	}
}

func (s *conns) track(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		tracked := &trackedConn{Conn: conn, set: s}
		if !s.add(tracked) {
			_ = conn.Close() // net/http made it for a request that has ended meanwhile
			return nil, net.ErrClosed
		}
		return tracked, nil
	}
}

// add reports false if the connection comes too late to be used.
func (s *conns) add(c *trackedConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing && s.active == 0 {
		return false
	}
	if s.open == nil {
		s.open = make(map[*trackedConn]struct{})
	}
	s.open[c] = struct{}{}
	return true
}

// begin counts an exchange; the function it returns counts it off, once.
func (s *conns) begin() (end func()) {
	s.mu.Lock()
	s.active++
	s.closing = s.retired
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.active--
		s.mu.Unlock()
		s.closeUnused()
	})
}

// close closes all connections, at once or when the last exchange ends.
func (s *conns) close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.closeUnused()
}

// retire closes for good, even if another exchange begins yet.
func (s *conns) retire() {
	s.mu.Lock()
	s.retired = true
	s.mu.Unlock()
	s.close()
}

func (s *conns) closeUnused() {
	s.mu.Lock()
	var unused []*trackedConn
	if s.closing && s.active == 0 {
		unused = slices.Collect(maps.Keys(s.open)) // in any order: they have nothing to do with each other
	}
	s.mu.Unlock()
	for _, c := range unused {
		_ = c.Close() // nobody is waiting for what it might say
	}
}
