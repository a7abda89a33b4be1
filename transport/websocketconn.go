package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// socketConn is the connection that gorilla/websocket is given. gorilla/websocket first
// writes the request of a handshake, which shakeHands sends. Then it reads the head of
// the answer, and after that it speaks with the server, over what net/http has left of
// the connection.
type socketConn struct {
	shakeHands func(http.Header) (*Response, error)
	liveness   *liveness

	request  []byte    // written so far, before the handshake
	head     io.Reader // of the answer; nil once it has been read
	response *Response // nil before the handshake
	raw      io.Writer // the connection
	err      error     // what reading ended with
}

var errNotUpgraded = errors.New("the connection cannot be written to after the WebSocket handshake: the answer is not that of a WebSocket, or the RoundTripper replaces its body")

// dial is called by gorilla/websocket. Nothing is connected before the request.
func (c *socketConn) dial(context.Context, string, string) (net.Conn, error) { return c, nil }

// Write may be called while Read waits.
func (c *socketConn) Write(p []byte) (int, error) {
	if c.response == nil {
		c.request = append(c.request, p...)
		return len(p), nil
	}
	defer c.liveness.bound()()
	return c.raw.Write(p)
}

func (c *socketConn) Read(p []byte) (n int, err error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.response == nil {
		if c.err = c.open(); c.err != nil {
			return 0, c.err
		}
	}
	if c.head != nil {
		if n, err := c.head.Read(p); err == nil {
			return n, nil
		}
		c.head = nil
	}
	c.liveness.begin()
	n, c.err = c.response.Body.Read(p)
	c.liveness.end()
	return n, c.err
}

func (c *socketConn) open() error {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(c.request)))
	if err != nil {
		return err
	}
	resp, err := c.shakeHands(req.Header)
	if err != nil {
		return err
	}
	var ok bool
	if c.raw, ok = writerOf(resp.Body); !ok {
		_ = resp.Body.Close() // what counts is why
		return resp.exchange.fail(errNotUpgraded)
	}
	c.response, c.request, c.head = resp, nil, accept(resp)
	return nil
}

// writerOf returns where to write to on an upgraded connection.
func writerOf(r io.Reader) (io.Writer, bool) {
	if b, ok := r.(*body); ok {
		r = b.raw
	}
	w, ok := r.(io.Writer)
	return w, ok
}

// Close ends a Read and a Write that wait.
func (c *socketConn) Close() error {
	c.liveness.stop()
	if c.response == nil {
		return nil
	}
	err := c.response.Body.Close()
	c.liveness.wait()
	return err
}

// gorilla/websocket wants the other methods of a connection, too. liveness does what
// deadlines would do: the connection that net/http hands out has none.

func (c *socketConn) LocalAddr() net.Addr              { return socketAddr{} }
func (c *socketConn) RemoteAddr() net.Addr             { return socketAddr{} }
func (c *socketConn) SetDeadline(time.Time) error      { return nil }
func (c *socketConn) SetReadDeadline(time.Time) error  { return nil }
func (c *socketConn) SetWriteDeadline(time.Time) error { return nil }

type socketAddr struct{}

func (socketAddr) Network() string { return "websocket" }
func (socketAddr) String() string  { return "websocket" }
