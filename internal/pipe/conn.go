// Package pipe has connections in memory. Both ends are in the same process.
//
// These connections differ from those of net.Pipe. A writer never waits, so no
// side can block the other. A connection can be reset. One end can wait until the
// other has read everything and wants more, which is not possible with a network.
// A Read returns bytes of one Write only, as with TCP if the sender does not delay.
//
// Begin with New.
package pipe

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Conn is one end of a connection. All methods may be called from any goroutine.
type Conn struct {
	in, out *stream
	name    addr
}

// New returns the two ends of a new connection.
func New() (client, server *Conn) {
	up, down := newStream(), newStream()
	return &Conn{in: down, out: up, name: "client"}, &Conn{in: up, out: down, name: "server"}
}

// Read waits for bytes from the other end.
func (c *Conn) Read(p []byte) (int, error) { return c.in.read(p) }

// Write never waits.
func (c *Conn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close ends the connection. The other end can read what was written before, and then gets io.EOF.
func (c *Conn) Close() error {
	c.in.close(net.ErrClosed)
	c.out.end(io.EOF)
	return nil
}

// Reset does the same as Close, but the other end gets ECONNRESET and not io.EOF.
func (c *Conn) Reset() {
	c.out.end(&net.OpError{Op: "read", Net: "memory", Err: os.NewSyscallError("read", syscall.ECONNRESET)})
	_ = c.Close()
}

// Refuse does the same as Close, but the other end gets ECONNREFUSED, as if there had been no
// connection.
func (c *Conn) Refuse() {
	c.out.end(Refused())
	_ = c.Close()
}

// HungUp returns a channel that is closed when the other end has closed the connection.
func (c *Conn) HungUp() <-chan struct{} { return c.in.over }

// Settle waits until the other end has read all that was written and waits for
// more. It returns false if the other end has closed the connection instead, or
// ctx has ended.
func (c *Conn) Settle(ctx context.Context) bool { return c.out.settle(ctx) }

// LocalAddr returns the name of this end.
func (c *Conn) LocalAddr() net.Addr { return c.name }

// RemoteAddr returns the name of the other end.
func (c *Conn) RemoteAddr() net.Addr { return addr("peer of the " + string(c.name)) }

// SetDeadline does the same as SetReadDeadline, because a write never waits.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline sets the time from which every Read returns an error.
func (c *Conn) SetReadDeadline(t time.Time) error { c.in.setDeadline(t); return nil }

// SetWriteDeadline does nothing, because a write never waits.
func (c *Conn) SetWriteDeadline(_ time.Time) error { return nil }

// Refused returns the error of a dial to an address where nobody listens.
func Refused() error {
	return &net.OpError{Op: "dial", Net: "memory", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

type addr string

func (a addr) Network() string { return "memory" }
func (a addr) String() string  { return string(a) }
