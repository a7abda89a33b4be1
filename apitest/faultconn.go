package apitest

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// A faultConn is a connection of a Listener that can go silent, as if a firewall had forgotten it.
// Then the bytes of both sides are lost. If the server closes the connection, the client does not
// learn of it.
type faultConn struct {
	net.Conn
	listener *Listener

	mu     sync.Mutex
	spared bool // it has carried a request that no fault may touch
	silent bool
	closed bool
}

// faultConnOf returns the faultConn under the layers of net/http and TLS. It returns nil if no
// Listener has accepted conn.
func faultConnOf(conn net.Conn) *faultConn {
	for conn != nil {
		switch c := conn.(type) {
		case *faultConn:
			return c
		case interface{ NetConn() net.Conn }: // TLS
			conn = c.NetConn()
		default:
			return nil
		}
	}
	return nil
}

// silence makes the connection half-open and returns true, unless the connection is spared.
func (c *faultConn) silence() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spared || c.silent || c.closed {
		return false
	}
	c.silent = true
	if m, ok := c.Conn.(*memoryConn); ok {
		m.lose()
	}
	return true
}

func (c *faultConn) spare() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spared = true
}

func (c *faultConn) isSpared() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spared
}

func (c *faultConn) isSilent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent
}

// Read throws away what arrives on a silent connection.
func (c *faultConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if !c.isSilent() {
			return n, err
		}
		if err != nil {
			return 0, err
		}
	}
}

func (c *faultConn) Write(p []byte) (int, error) {
	if c.isSilent() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// CloseWrite ends the server's side of the connection. net/http calls it if the client is still
// sending.
func (c *faultConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || c.isSilent() {
		return nil
	}
	return half.CloseWrite()
}

// Close closes the connection. If the connection is silent, its socket stays open until the
// listener is shut.
func (c *faultConn) Close() error {
	c.mu.Lock()
	c.closed = true
	silent := c.silent
	c.mu.Unlock()
	if silent {
		return c.SetReadDeadline(time.Unix(1, 0)) // so that a Read that waits returns
	}
	c.listener.forget(c)
	return c.Conn.Close()
}

// breakOff closes the connection, with a TCP reset if reset is true.
func (c *faultConn) breakOff(reset bool) {
	if reset && !c.isSilent() {
		resetOnClose(c.Conn)
	}
	_ = c.Close() // an error does not matter: the connection had to break
}

// breakAll breaks every connection with a TCP reset, except those that HalfOpen spares.
func (l *Listener) breakAll() {
	l.mu.Lock()
	var all []*faultConn
	for c := range l.conns { // each is broken by itself: the order does not matter
		if !c.isSpared() {
			all = append(all, c)
		}
	}
	l.mu.Unlock()
	for _, c := range all {
		c.breakOff(true)
	}
}

// resetOnClose makes the close of a connection a TCP reset. Without it, Close ends the connection
// cleanly (FIN).
func resetOnClose(conn net.Conn) {
	switch c := conn.(type) {
	case *net.TCPConn:
		_ = c.SetLinger(0) // an error does not matter: the connection has gone
	case *memoryConn:
		c.reset.Store(true)
	}
}

// A faultListener accepts connections that can go silent.
type faultListener struct {
	net.Listener
	of *Listener
}

// Accept implements [net.Listener].
func (ln *faultListener) Accept() (net.Conn, error) {
	conn, err := ln.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &faultConn{Conn: conn, listener: ln.of}
	ln.of.remember(c)
	return c, nil
}

// HalfOpen makes every open connection of the Listeners go silent, and returns their number. No
// byte arrives on a silent connection any more, in either direction. If the server closes it, the
// client does not learn of that. New connections work. A connection stays silent until Refuse, or
// Close of the listener, closes it.
//
// HalfOpen spares a connection if it has carried a request for /_faults/, or one with the header
// "X-Relist-Faults: off".
func (s *Server) HalfOpen() int {
	n := 0
	for _, l := range s.allListeners() {
		n += l.silence()
	}
	return n
}

func (l *Listener) silence() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for c := range l.conns { // each is changed by itself: the order does not matter
		if c.silence() {
			n++
		}
	}
	return n
}

func (l *Listener) remember(c *faultConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
}

func (l *Listener) forget(c *faultConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// spareHeader is a header of a request. If its value is off, no fault touches the request, so a
// test can look at the server while other clients meet faults.
const spareHeader = "X-Relist-Faults"

func spared(req *http.Request) bool { return req.Header.Get(spareHeader) == "off" }
