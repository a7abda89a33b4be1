package trace

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
)

// socket is the server's side of a WebSocket.
type socket struct {
	*websocket.Conn

	hangs bool // pings are not answered
}

func parseClose(rest string) (stimulus, error) {
	w, err := parseWords(rest)
	if err != nil {
		return nil, err
	}
	if err := w.noJSON(); err != nil {
		return nil, err
	}
	if len(w.plain) == 0 || len(w.plain) > 2 {
		return nil, errors.New(`want a code, and perhaps a "reason"`)
	}
	code, err := strconv.ParseUint(w.plain[0], 10, 16)
	if err != nil || code < 1000 || code > 4999 || code >= 1004 && code <= 1006 || code == 1015 {
		return nil, fmt.Errorf("want a code that can be sent, from 1000 to 4999: for 1006 write cut")
	}
	c := closing{code: uint16(code)}
	if len(w.plain) == 2 {
		c.reason = w.plain[1]
	}
	if len(c.reason) > 123 {
		return nil, errors.New("a reason has 123 bytes at most")
	}
	return c, nil
}

// handshake returns the request if it asks for a WebSocket, and otherwise nil.
func handshake(req *http.Request) *http.Request {
	if !websocket.IsWebSocketUpgrade(req) {
		return nil
	}
	return req
}

func (upgrade) play(r *run) error {
	req, err := r.peer.newest()
	switch {
	case err != nil:
		return err
	case req.started:
		return errAnswered
	case req.asks == nil:
		return errors.New("the newest request without a full answer asks for no WebSocket")
	}
	if err := r.peer.upgrade(req); err != nil {
		return err
	}
	r.settle()
	return nil
}

var errSocketEnds = errors.New("a WebSocket ends with close, cut or reset")

func (r *run) openSocket() (*request, error) {
	req, err := r.streaming()
	if errors.Is(err, errNoHead) || err == nil && req.link.socket == nil {
		err = errors.New("the newest request whose answer has begun has become no WebSocket: begin with < 101")
	}
	return req, err
}

// A kube-apiserver does not wait for the client to close, too.
func (c closing) play(r *run) error {
	req, err := r.openSocket()
	if err != nil {
		return err
	}
	r.peer.finish(req)
	_ = req.link.socket.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(int(c.code), c.reason), time.Time{}) // see send
	_ = req.link.conn.Close()
	r.settle()
	return nil
}

func (hang) play(r *run) error {
	req, err := r.streaming()
	if err != nil || req.link.frames == nil {
		req, err = r.openSocket()
	}
	if err == nil {
		r.peer.hang(req)
	}
	return err
}

// frame is a frame of a message, which has several if the chunk is split. gorilla/websocket
// begins a new frame where its buffer is full; a trace says itself where a message is split.
func (c *chunk) frame(part []byte, first, last bool) []byte {
	op := byte(0) // a continuation
	switch {
	case first && c.binary:
		op = websocket.BinaryMessage
	case first:
		op = websocket.TextMessage
	}
	if last {
		op |= 0x80
	}
	var head []byte
	switch n := len(part); {
	case n < 126:
		head = []byte{op, byte(n)}
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16([]byte{op, 126}, uint16(n))
	default:
		head = binary.BigEndian.AppendUint64([]byte{op, 127}, uint64(n))
	}
	return append(head, part...)
}

func (p *peer) upgrade(req *request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	upgrader := websocket.Upgrader{ReadBufferSize: 512, CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(taken{req.link.conn, req.link.in}, req.asks, nil)
	if err != nil {
		return err
	}
	req.started = true
	req.link.socket = &socket{Conn: conn}
	return nil
}

// taken is the ResponseWriter from which gorilla/websocket takes the connection.
type taken struct {
	net.Conn
	in *bufio.Reader
}

func (t taken) Read(p []byte) (int, error) { return t.in.Read(p) }
func (taken) Header() http.Header          { return http.Header{} }
func (taken) WriteHeader(int)              {}

func (t taken) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return t, bufio.NewReadWriter(bufio.NewReader(t), bufio.NewWriter(t)), nil
}

func (p *peer) hang(req *request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if req.link.frames != nil {
		req.link.frames.hangs = true
		return
	}
	req.link.socket.hangs = true
}

func (p *peer) socketOf(l *link) *socket {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.socket
}

// readSocket answers pings, as every server does, until the client closes the
// connection. One that is not answered is worth a line.
func (p *peer) readSocket(l *link, s *socket) {
	s.SetPingHandler(func(data string) error {
		p.mu.Lock()
		hangs := s.hangs
		if hangs {
			p.note(note{link: l, lines: []string{"> ping"}})
		}
		p.mu.Unlock()
		if !hangs {
			_ = s.WriteControl(websocket.PongMessage, []byte(data), time.Time{}) // see send
		}
		return nil
	})
	s.SetCloseHandler(func(int, string) error { return nil })
	for {
		_, message, err := s.ReadMessage()
		if _, ok := errors.AsType[*websocket.CloseError](err); ok {
			if _, err = io.Copy(io.Discard, l.in); err == nil { // nothing may follow but the end
				err = io.EOF
			}
		}
		if err != nil {
			p.closed(l, err)
			return
		}
		p.mu.Lock()
		p.err = errors.Join(p.err, fmt.Errorf("the client sent a message of %d bytes, and a watch wants nothing of it", len(message)))
		p.mu.Unlock()
	}
}
