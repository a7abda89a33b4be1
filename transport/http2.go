package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// withHTTP2 lets a generation speak HTTP/2, where TLS agrees to it, and HTTP/1.1
// otherwise.
func withHTTP2(cfg Config, h1 *http.Transport, g *generation) {
	p := newStreamPool(cfg)
	p.h1 = h1
	if h1.TLSClientConfig.NextProtos == nil {
		h1.TLSClientConfig.NextProtos = []string{"h2", "http/1.1"}
	}
	h1.TLSClientConfig.VerifyConnection = p.agreed
	h1.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{"h2": p.upgrade}
	g.RoundTripper, g.closeIdle = p, p.closeIdle
}

// plainHTTP2 speaks HTTP/2 without TLS to a server known to understand it.
func plainHTTP2(cfg Config, g *generation) {
	p := newStreamPool(cfg)
	p.dial = g.dial
	g.RoundTripper, g.closeIdle = p, p.closeIdle
}

func newStreamPool(cfg Config) *streamPool {
	return &streamPool{
		h2:     newHTTP2(cfg),
		settle: tlsHandshakeTimeout,
	}
}

// newHTTP2 returns a Transport that speaks HTTP/2 on connections that are made
// elsewhere: its dial takes the connection out of the context. TLS is done by then, so
// that all of them are plain connections to net/http.
func newHTTP2(cfg Config) *http.Transport {
	h2 := &http.Transport{
		DisableCompression:     true,
		IdleConnTimeout:        idleConnTimeout,
		Protocols:              new(http.Protocols),
		MaxResponseHeaderBytes: maxHeaderBytes,
		HTTP2:                  idleLimitsOf(cfg).http2(),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(connKey{}).(net.Conn), nil
		},
	}
	h2.Protocols.SetUnencryptedHTTP2(true)
	return h2
}

// connKey is where newHTTP2 finds a connection in a context.
type connKey struct{}

// newClientConn begins HTTP/2 on a connection. It may have to wait until the other end
// takes what is written.
func newClientConn(ctx context.Context, h2 *http.Transport, conn net.Conn) (*http.ClientConn, error) {
	return h2.NewClientConn(context.WithValue(ctx, connKey{}, conn), "http", "made.elsewhere:80")
}

var errWithoutHTTP2 = errors.New("ProtocolHTTP2 is asked for, and this program has no HTTP/2: it was built with the tag nethttpomithttp2, or GODEBUG has http2client=0")

// hasHTTP2 reports whether net/http has HTTP/2 in this program.
var hasHTTP2 = sync.OnceValue(func() bool {
	conn, other := net.Pipe()
	_ = other.Close()
	_, err := newClientConn(context.Background(), newHTTP2(Config{}), conn)
	return errors.Is(err, io.ErrClosedPipe) // HTTP/2 has tried to write
})

// h2Conn is a connection as net/http's HTTP/2 reads it, frame by frame (RFC 9113,
// section 4.1). It finds out two things that neither net/http nor
// golang.org/x/net/http2 tells: when the SETTINGS of the server are known, and that the
// server is going away.
//
// It also drops frames of types that a client has to ignore (section 5.5). net/http
// ignores them too, but logs each of them, with which a server could fill a disk.
type h2Conn struct {
	net.Conn

	// Read by one goroutine, that of HTTP/2.
	in        *bufio.Reader
	left      int  // bytes of the present frame that are still to come
	settings  bool // the SETTINGS of the server have been read
	confirmed bool // the server has confirmed those of the client
	ready     bool

	settled chan struct{} // closed once HTTP/2 has acted upon both
	over    chan struct{} // closed once nothing more is read

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

	// largestFrame is the largest frame that a client accepts if it asks for nothing
	// else (section 4.2). net/http refuses larger ones.
	largestFrame = 1 << 14
)

func newH2Conn(conn net.Conn) *h2Conn {
	return &h2Conn{Conn: conn, in: bufio.NewReader(conn), settled: make(chan struct{}), over: make(chan struct{})}
}

// Read returns bytes of one frame at most. When HTTP/2 asks for the next frame, it has
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

// next looks at the head of the next frame. After a frame that is dropped, there is
// nothing to read.
func (c *h2Conn) next() error {
	head, err := c.in.Peek(frameHead)
	if err != nil {
		if len(head) > 0 {
			c.left = len(head) // HTTP/2 has its own error for half a head
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

// isIgnored reports whether a client ignores frames of a type: PRIORITY, and those that
// RFC 9113 does not know.
func isIgnored(kind byte) bool {
	const priority = 0x2
	return kind == priority || kind > frameContinuation
}

// heedGoAway remembers that the server is going away, before HTTP/2 fails requests
// because of it.
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

// end remembers why nothing more is read.
func (c *h2Conn) end(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.over)
	}
	return err
}

// gone reports whether nothing more is read. TLS may still be saying goodbye.
func (c *h2Conn) gone() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// leaves reports whether the server has said that it is going away, without an error
// code.
func (c *h2Conn) leaves() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goAway && c.code == 0
}

// readError returns why nothing more is read, nil if more may be.
func (c *h2Conn) readError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// patienceForClose is how long TLS may take to say goodbye if the other end takes
// nothing more.
const patienceForClose = 250 * time.Millisecond

type secureH2Conn struct {
	*h2Conn

	tls *tls.Conn
}

// ConnectionState is found by net/http, for http.Response.TLS.
func (c secureH2Conn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// Close waits for TLS to say goodbye, but not for long.
func (c secureH2Conn) Close() error {
	_ = c.end(net.ErrClosed)
	defer time.AfterFunc(patienceForClose, func() { _ = c.tls.NetConn().Close() }).Stop()
	return c.tls.Close()
}
