package transport

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"net"
	"sync"
	"time"
)

// h2Conn is a connection as net/http's HTTP/2 reads it, frame by frame (RFC 9113,
// section 4.1). It tells what net/http keeps to itself: when the SETTINGS of the server
// are known, and that the server is going away.
//
// It also drops frames of types that a client has to ignore (section 5.5). net/http
// ignores them too, but logs each: a server could fill a disk.
type h2Conn struct {
	net.Conn

	// Read by one goroutine, that of HTTP/2.
	in        *bufio.Reader
	left      int  // bytes of the present frame that are still to come
	settings  bool // the SETTINGS of the server have been read
	confirmed bool // the server has confirmed those of the client
	ready     bool

	settled chan struct{} // closed: both have been acted upon, and all that came before
	over    chan struct{} // closed: nothing more is read

	mu     sync.Mutex
	goAway bool   // the server has said that it goes away
	code   uint32 // the error code with which it has said so
	err    error  // of the last Read
}

const (
	frameHead = 9 // bytes before the payload of each frame

	frameSettings     = 0x4
	frameGoAway       = 0x7
	frameContinuation = 0x9

	flagAck = 0x1

	// largestFrame is what a client accepts that asks for no more (section 4.2). net/http
	// refuses the others.
	largestFrame = 1 << 14
)

func newH2Conn(conn net.Conn) *h2Conn {
	return &h2Conn{Conn: conn, in: bufio.NewReader(conn), settled: make(chan struct{}), over: make(chan struct{})}
}

// Read returns bytes of one frame at most. When the next frame is asked for, HTTP/2 has
// acted upon all that it has read.
func (c *h2Conn) Read(p []byte) (int, error) {
	for c.left == 0 {
		if c.settings && c.confirmed && !c.ready {
			c.ready = true
			close(c.settled)
		}
		if err := c.next(); err != nil {
			return 0, c.end(err)
		}
	}
	n, err := c.in.Read(p[:min(len(p), c.left)])
	c.left -= n
	if err != nil {
		err = c.end(err)
	}
	return n, err
}

// next looks at the head of the next frame. A frame that is dropped leaves nothing to
// read.
func (c *h2Conn) next() error {
	head, err := c.in.Peek(frameHead)
	if err != nil {
		if len(head) > 0 {
			c.left = len(head) // HTTP/2 knows best what to say of half a head
			return nil
		}
		return err
	}
	length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	switch kind, flags := head[3], head[4]; {
	case isIgnored(kind) && length <= largestFrame:
		_, err := c.in.Discard(frameHead + length)
		return err
	case kind == frameSettings && flags&flagAck == 0:
		c.settings = true
	case kind == frameSettings:
		c.confirmed = true
	case kind == frameGoAway:
		c.heedGoAway(length)
	}
	c.left = frameHead + length
	return nil
}

// isIgnored reports whether frames of a type say nothing to a client: PRIORITY, and
// those that RFC 9113 does not know.
func isIgnored(kind byte) bool {
	const priority = 0x2
	return kind == priority || kind > frameContinuation
}

// heedGoAway notes that the server is going away, before HTTP/2 ends requests for that.
func (c *h2Conn) heedGoAway(length int) {
	const until = frameHead + 8 // the last stream, and the error code
	if length < until-frameHead {
		return // HTTP/2 refuses it
	}
	frame, err := c.in.Peek(until)
	if err != nil {
		return // and the Read that follows says so
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if code := binary.BigEndian.Uint32(frame[frameHead+4:]); !c.goAway || code != 0 {
		c.goAway, c.code = true, code
	}
}

// Close is called by HTTP/2 when it has read enough.
func (c *h2Conn) Close() error {
	_ = c.end(net.ErrClosed)
	return c.Conn.Close()
}

// end notes that nothing more is read.
func (c *h2Conn) end(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.over)
	}
	return err
}

// leaves reports whether the server has said that it goes away, and that it has no
// other reason than that.
func (c *h2Conn) leaves() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goAway && c.code == 0
}

// readError returns why nothing more is read; nil if something may be.
func (c *h2Conn) readError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// patienceForClose is how long TLS may take to say goodbye on a connection whose other
// end takes nothing any more.
const patienceForClose = 250 * time.Millisecond

// secureH2Conn is an h2Conn over TLS.
type secureH2Conn struct {
	*h2Conn

	tls *tls.Conn
}

// ConnectionState is looked for by net/http, for http.Response.TLS.
func (c secureH2Conn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// Close waits for TLS to say goodbye, but not for long.
func (c secureH2Conn) Close() error {
	_ = c.end(net.ErrClosed)
	defer time.AfterFunc(patienceForClose, func() { _ = c.tls.NetConn().Close() }).Stop()
	return c.tls.Close()
}
