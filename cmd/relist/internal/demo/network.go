package demo

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// network makes the client's connections, and breaks them in ways that a server cannot.
type network struct {
	mu      sync.Mutex
	conns   map[*conn]struct{}
	givenUp atomic.Int64 // silenced connections that the client has closed
}

func newNetwork() *network { return &network{conns: make(map[*conn]struct{})} }

func (n *network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	inner, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, network: n, closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[c] = struct{}{}
	return c, nil
}

// open returns the connections that are open.
func (n *network) open() []*conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	var open []*conn
	for c := range n.conns { // all are treated alike: the order does not matter
		open = append(open, c)
	}
	return open
}

// cut breaks every connection, as a load balancer does that restarts.
func (n *network) cut() {
	for _, c := range n.open() {
		c.reset.Store(true)
		_ = c.Conn.Close() // it was to break
	}
}

// silence loses everything on the present connections from now on, in both directions,
// without a word to either side, as a firewall does that has forgotten them. New
// connections work.
func (n *network) silence() {
	for _, c := range n.open() {
		c.silent.Store(true)
	}
}

// conn is a connection that can be silenced, or seem to be reset by the other side.
type conn struct {
	net.Conn
	network *network
	silent  atomic.Bool
	reset   atomic.Bool
	once    sync.Once
	closed  chan struct{}
}

// Read loses what arrives once the connection is silent, and returns when it is closed.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.silent.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	if err != nil && c.reset.Load() {
		err = &net.OpError{Op: "read", Net: "tcp", Addr: c.RemoteAddr(), Err: syscall.ECONNRESET}
	}
	return n, err
}

// Write says that all is well, as the kernel does until its buffer is full.
func (c *conn) Write(b []byte) (int, error) {
	if c.silent.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Close ends the connection, and a Read with it.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		if c.silent.Load() {
			c.network.givenUp.Add(1)
		}
		c.network.mu.Lock()
		defer c.network.mu.Unlock()
		delete(c.network.conns, c)
	})
	return c.Conn.Close()
}
