package apitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/relist-go/relist/internal/memnet"
)

// StartInMemory is Start without a port: the server's connections are pieces of memory, and the
// client makes them with the listener's [Listener.Dial]. A test in a [testing/synctest] bubble
// needs such connections, because time stands still there while a goroutine waits for the network.
// Then hours of bookmarks, timeouts and pauses take no real time:
//
//	synctest.Test(t, func(t *testing.T) {
//		server, listener := apitest.StartInMemory(t, apitest.Options{})
//		client, err := transport.NewClient(transport.Config{Server: listener.URL, Dial: listener.Dial})
//		...
//	})
//
// Call it inside the bubble. Register a Cleanup that stops the client after it, as for Start: when
// the server is closed, the client's goroutines must have ended, or end by themselves. An
// [net/http.Transport] takes Dial as its DialContext. The connections speak HTTP/1.1, and HTTP/2
// without TLS with a client that begins with it. All faults work, [Server.Refuse] and
// [Server.HalfOpen] included.
//
// A connection has no buffer: what is written waits until the other side reads it. So a watch whose
// client does not read falls behind at once, and a network's buffers do not hide it.
func StartInMemory(t TB, opts Options) (server *Server, listener *Listener) {
	t.Helper()
	server = New(opts)
	closeAfter(t, server)
	listener, err := server.listenAs(&Listener{srv: server, handler: server, inMemory: true})
	if err != nil {
		t.Fatal("start an API server for tests in memory:", err)
	}
	return server, listener
}

// memoryURL names this machine, so that a client also sends credentials without TLS.
const memoryURL = "http://localhost"

// Dial connects to a listener of [StartInMemory], whatever the address is. If the server refuses
// connections, the error is the one of a port on which nobody listens. If the listener has an
// address, Dial returns an error: connect to its URL.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if !l.inMemory {
		return nil, fmt.Errorf("apitest: this server is not in memory; connect to %s without Dial", l.URL)
	}
	l.mu.Lock()
	port, _ := l.port.(*memnet.Network)
	l.mu.Unlock()
	if port == nil {
		return nil, errRefused
	}
	return dialMemory(ctx, port)
}

var errRefused error = &net.OpError{Op: "dial", Net: "memory", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// dialMemory connects to a listener in memory. The connection is a pipe without a buffer, which can
// be reset and lost.
func dialMemory(ctx context.Context, port *memnet.Network) (net.Conn, error) {
	near, far := net.Pipe()
	s := &memoryState{client: near}
	err := port.Connect(ctx, &memoryConn{Conn: far, memoryState: s})
	switch {
	case errors.Is(err, net.ErrClosed):
		return nil, errRefused
	case err != nil:
		return nil, err
	}
	return &memoryConn{Conn: near, memoryState: s}, nil
}

// A memoryConn is one end of a connection.
type memoryConn struct {
	net.Conn
	*memoryState
}

// A memoryState is what the two ends of a connection share, and a [net.Pipe] does not have.
type memoryState struct {
	client net.Conn
	reset  atomic.Bool // the end of the connection is a reset of TCP
	lost   atomic.Bool // the network loses every byte
}

// lose makes the network lose every byte. A client that writes does not wait for a server that
// reads no more: TCP takes its bytes, too.
func (s *memoryState) lose() {
	s.lost.Store(true)
	_ = s.client.SetWriteDeadline(time.Unix(1, 0)) // for a Write that waits; a pipe has deadlines
}

func (c *memoryConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) && c.reset.Load() {
		err = &net.OpError{Op: "read", Net: "memory", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	}
	return n, err
}

// Write returns the error of TCP if the other side has closed the connection.
func (c *memoryConn) Write(p []byte) (int, error) {
	if c.lost.Load() {
		return len(p), nil
	}
	n, err := c.Conn.Write(p)
	if c.lost.Load() {
		return len(p), nil
	}
	if errors.Is(err, io.ErrClosedPipe) {
		err = &net.OpError{Op: "write", Net: "memory", Err: os.NewSyscallError("write", syscall.EPIPE)}
	}
	return n, err
}
