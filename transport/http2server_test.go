package transport

import (
	"bytes"
	"io"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/relist-go/relist/internal/memnet"
)

// frameServer speaks HTTP/2 frame by frame, to say what no real server can be made to
// say at a given moment. It runs in a synctest bubble.
type frameServer struct {
	*memnet.Network

	// settings are sent at the beginning of each connection. Then greet is called, if it
	// is not nil.
	settings []http2.Setting
	greet    func(c *frameConn)

	noPong bool // pings are not answered

	// request is called for each request, one at a time. Streams
	// have the numbers 1, 3, 5... on each connection.
	request func(c *frameConn, stream uint32, path string)

	mu    sync.Mutex
	conns []*frameConn
	all   sync.WaitGroup
}

// frameConn is the server's end of one connection.
type frameConn struct {
	number int // the first is 1
	conn   net.Conn
	framer *http2.Framer
	out    chan func() // what is to be written; net.Pipe holds nothing
	resets []uint32    // streams that the client has given up; read after synctest.Wait
}

// newFrameServer serves until stop is called.
func newFrameServer(request func(c *frameConn, stream uint32, path string), settings ...http2.Setting) (s *frameServer, stop func()) {
	s = &frameServer{Network: memnet.New(), request: request, settings: settings}
	return s, s.start(s.Network)
}

// start serves the connections of a listener until stop is called.
func (s *frameServer) start(ln net.Listener) (stop func()) {
	s.all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			c := &frameConn{conn: conn, framer: http2.NewFramer(conn, conn), out: make(chan func(), 1000)}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			c.number = len(s.conns)
			s.mu.Unlock()
			s.all.Go(func() {
				for write := range c.out {
					write()
				}
			})
			s.all.Go(func() {
				defer close(c.out)
				defer conn.Close()
				s.serve(c)
			})
		}
	})
	return func() {
		_ = ln.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.conn.Close()
		}
		s.mu.Unlock()
		s.all.Wait()
	}
}

func (s *frameServer) serve(c *frameConn) {
	if _, err := io.ReadFull(c.conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	c.out <- func() { _ = c.framer.WriteSettings(s.settings...) }
	if s.greet != nil {
		s.greet(c)
	}
	decoder := hpack.NewDecoder(4096, nil)
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				c.out <- func() { _ = c.framer.WriteSettingsAck() }
			}
		case *http2.PingFrame:
			if !f.IsAck() && !s.noPong {
				data := f.Data
				c.out <- func() { _ = c.framer.WritePing(true, data) }
			}
		case *http2.RSTStreamFrame:
			c.resets = append(c.resets, f.StreamID)
		case *http2.HeadersFrame:
			fields, err := decoder.DecodeFull(f.HeaderBlockFragment())
			if err != nil {
				return
			}
			for _, field := range fields {
				if field.Name == ":path" {
					s.mu.Lock()
					s.request(c, f.StreamID, field.Value)
					s.mu.Unlock()
				}
			}
		default: // WINDOW_UPDATE and the like
		}
	}
}

// headers begins an answer of 200.
func (c *frameConn) headers(stream uint32) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	_ = encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	_ = encoder.WriteField(hpack.HeaderField{Name: "content-type", Value: "application/json"})
	c.out <- func() {
		_ = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true})
	}
}

func (c *frameConn) data(stream uint32, text string, end bool) {
	c.out <- func() { _ = c.framer.WriteData(stream, end, []byte(text)) }
}

func (c *frameConn) goAway(lastStream uint32, code http2.ErrCode) {
	c.out <- func() { _ = c.framer.WriteGoAway(lastStream, code, nil) }
}

// unknown sends a frame of a type that clients have to ignore (RFC 9113, section 5.5).
func (c *frameConn) unknown(kind http2.FrameType, size int) {
	c.out <- func() { _ = c.framer.WriteRawFrame(kind, 0, 0, make([]byte, size)) }
}

func (c *frameConn) reset(stream uint32, code http2.ErrCode) {
	c.out <- func() { _ = c.framer.WriteRSTStream(stream, code) }
}

// disconnect closes the connection once all that was said is written.
func (c *frameConn) disconnect() {
	c.out <- func() { _ = c.conn.Close() }
}
