// Package pipe has connections that are pieces of memory, for both ends of a
// conversation in one process.
//
// Unlike net.Pipe a connection never blocks a writer, so that neither side can
// hang the other, and it can be reset. Like TCP with a sender that does not
// delay, it hands over what was written in the same pieces: one Read returns bytes
// of one Write at most. And one end can wait until the other has read everything
// and wants more, which no network can tell.
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

// Conn is one end of a connection.
type Conn struct {
	in, out *stream
	name    addr
}

// New returns the two ends.
func New() (client, server *Conn) {
	up, down := newStream(), newStream()
	return &Conn{in: down, out: up, name: "client"}, &Conn{in: up, out: down, name: "server"}
}

// Read waits for bytes of the other end.
func (c *Conn) Read(p []byte) (int, error) { return c.in.read(p) }

// Write never waits.
func (c *Conn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close lets the other end read what was written, and then io.EOF.
func (c *Conn) Close() error {
	c.in.close(net.ErrClosed)
	c.out.end(io.EOF)
	return nil
}

// Reset is Close, with ECONNRESET instead of io.EOF.
func (c *Conn) Reset() {
	c.out.end(&net.OpError{Op: "read", Net: "memory", Err: os.NewSyscallError("read", syscall.ECONNRESET)})
	_ = c.Close()
}

// HungUp is closed when the other end has closed the connection.
func (c *Conn) HungUp() <-chan struct{} { return c.in.over }

// Settle waits until the other end has read all that was written and waits for
// more. It returns false if the other end has closed the connection instead, or
// ctx has ended.
func (c *Conn) Settle(ctx context.Context) bool { return c.out.settle(ctx) }

// LocalAddr names this end.
func (c *Conn) LocalAddr() net.Addr { return c.name }

// RemoteAddr names the other one.
func (c *Conn) RemoteAddr() net.Addr { return addr("peer of the " + string(c.name)) }

// SetDeadline is SetReadDeadline: a write never waits.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline makes reads fail from t on.
func (c *Conn) SetReadDeadline(t time.Time) error { c.in.setDeadline(t); return nil }

// SetWriteDeadline does nothing: a write never waits.
func (c *Conn) SetWriteDeadline(_ time.Time) error { return nil }

// Refused is what a dial returns where nobody listens.
func Refused() error {
	return &net.OpError{Op: "dial", Net: "memory", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

type addr string

func (a addr) Network() string { return "memory" }
func (a addr) String() string  { return string(a) }
