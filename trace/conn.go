package trace

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// conn is one end of a connection that is a piece of memory.
//
// Unlike net.Pipe it never blocks a writer, so that neither side can hang the
// other, and it can be reset. Like TCP with a sender that does not delay, it
// hands over what was written in the same pieces: one Read returns bytes of one
// Write at most.
type conn struct {
	in, out *stream
	name    addr
}

// newConns returns the two ends.
func newConns() (client, server *conn) {
	up, down := newStream(), newStream()
	return &conn{in: down, out: up, name: "client"}, &conn{in: up, out: down, name: "server"}
}

func (c *conn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close lets the other end read what was written, and then io.EOF.
func (c *conn) Close() error {
	c.in.close(net.ErrClosed)
	c.out.end(io.EOF)
	return nil
}

// reset is Close, with ECONNRESET instead of io.EOF.
func (c *conn) reset() {
	c.out.end(&net.OpError{Op: "read", Net: "memory", Err: os.NewSyscallError("read", syscall.ECONNRESET)})
	_ = c.Close()
}

func (c *conn) LocalAddr() net.Addr  { return c.name }
func (c *conn) RemoteAddr() net.Addr { return addr("peer of the " + string(c.name)) }

func (c *conn) SetDeadline(t time.Time) error      { return c.SetReadDeadline(t) }
func (c *conn) SetReadDeadline(t time.Time) error  { c.in.setDeadline(t); return nil }
func (c *conn) SetWriteDeadline(_ time.Time) error { return nil } // a write never waits

// refused is what a dial returns where nobody listens.
func refused() error {
	return &net.OpError{Op: "dial", Net: "memory", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

type addr string

func (a addr) Network() string { return "memory" }
func (a addr) String() string  { return string(a) }

// stream is one direction of a connection.
type stream struct {
	mu       sync.Mutex
	changed  sync.Cond // when a reader may find something else than before
	pieces   [][]byte
	ended    error // what a read returns after the pieces; nil while more may come
	closed   error // what a read returns at once
	deadline time.Time
	timer    *time.Timer
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed != nil:
			return 0, s.closed
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(s.pieces) > 0:
			n := copy(p, s.pieces[0])
			if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
				s.pieces = s.pieces[1:]
			}
			return n, nil
		case s.ended != nil:
			return 0, s.ended
		}
		s.changed.Wait()
	}
}

var errBrokenPipe = &net.OpError{Op: "write", Net: "memory", Err: os.NewSyscallError("write", syscall.EPIPE)}

func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(s.ended, io.EOF):
		return 0, net.ErrClosed // by the writer itself
	case s.ended != nil, s.closed != nil:
		return 0, errBrokenPipe
	}
	if len(p) > 0 {
		s.pieces = append(s.pieces, append([]byte(nil), p...))
		s.changed.Broadcast()
	}
	return len(p), nil
}

// end is called by the writer's side. The first reason counts.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = err
	}
	s.changed.Broadcast()
}

// close is called by the reader's side.
func (s *stream) close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = err
	if s.timer != nil {
		s.timer.Stop()
	}
	s.changed.Broadcast()
}

func (s *stream) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if !t.IsZero() {
		s.timer = time.AfterFunc(time.Until(t), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
	}
	s.changed.Broadcast()
}
