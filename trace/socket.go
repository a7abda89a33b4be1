package trace

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // RFC 6455 wants it, and not for security
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// The opcodes of WebSocket frames that occur here (RFC 6455, section 5.2).
const (
	opContinuation = 0x0
	opText         = 0x1
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa
)

// socket is the server's side of a WebSocket.
type socket struct {
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

// handshakeKey returns the key of a request that asks for a WebSocket, "" of another.
func handshakeKey(req *http.Request) string {
	if !strings.EqualFold(req.Header.Get("Upgrade"), "websocket") {
		return ""
	}
	return req.Header.Get("Sec-Websocket-Key")
}

func (upgrade) play(r *run) error {
	req, err := r.peer.newest()
	switch {
	case err != nil:
		return err
	case req.started:
		return errAnswered
	case req.key == "":
		return errors.New("the newest request without a full answer asks for no WebSocket")
	}
	sum := sha1.Sum([]byte(req.key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
	r.peer.upgrade(req)
	r.peer.send(req, []byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n"))
	r.settle()
	return nil
}

var errSocketEnds = errors.New("a WebSocket ends with close, cut or reset")

// openSocket returns the request that has become a WebSocket.
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
	r.peer.send(req, socketFrame(opClose, true, append(binary.BigEndian.AppendUint16(nil, c.code), c.reason...)))
	_ = req.link.conn.Close()
	r.settle()
	return nil
}

func (hang) play(r *run) error {
	req, err := r.openSocket()
	if err == nil {
		r.peer.hang(req)
	}
	return err
}

// messagePart is a frame of a text message that may have several.
func messagePart(data []byte, first, last bool) []byte {
	op := byte(opContinuation)
	if first {
		op = opText
	}
	return socketFrame(op, last, data)
}

func socketFrame(op byte, last bool, payload []byte) []byte {
	if last {
		op |= 0x80
	}
	var head []byte
	switch n := len(payload); {
	case n < 126:
		head = []byte{op, byte(n)}
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16([]byte{op, 126}, uint16(n))
	default:
		head = binary.BigEndian.AppendUint64([]byte{op, 127}, uint64(n))
	}
	return append(head, payload...)
}

// upgrade says that a request is answered with a WebSocket.
func (p *peer) upgrade(req *request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	req.started = true
	req.link.socket = new(socket)
}

func (p *peer) hang(req *request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	req.link.socket.hangs = true
}

func (p *peer) socketOf(l *link) *socket {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.socket
}

// readSocket answers pings, as every server does, until the client closes the
// connection. One that is not answered is worth a line.
func (p *peer) readSocket(l *link, s *socket, r *bufio.Reader) {
	for {
		op, payload, err := readSocketFrame(r)
		if err != nil {
			p.closed(l, err)
			return
		}
		p.mu.Lock()
		answer := op == opPing && !s.hangs
		switch {
		case op == opPing && s.hangs:
			p.note(note{link: l, lines: []string{"> ping"}})
		case op != opPing && op != opPong && op != opClose:
			p.err = errors.Join(p.err, fmt.Errorf("the client sent a frame with the opcode %x, and a watch wants nothing of it", op))
		}
		p.mu.Unlock()
		if answer {
			_, _ = l.conn.Write(socketFrame(opPong, true, payload))
		}
	}
}

var errSocketFrame = errors.New("a WebSocket frame of the client's without a mask, or too large for one that has nothing to say")

// readSocketFrame reads a control frame of a client, which has to have a mask.
func readSocketFrame(r io.Reader) (op byte, payload []byte, err error) {
	var head [6]byte
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return 0, nil, err
	}
	n := int(head[1] & 0x7f)
	if head[1]&0x80 == 0 || n > 125 {
		return 0, nil, errSocketFrame
	}
	if _, err := io.ReadFull(r, head[2:]); err != nil {
		return 0, nil, err
	}
	payload = make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, err
	}
	for i := range payload {
		payload[i] ^= head[2+i%4]
	}
	return head[0] & 0xf, payload, nil
}
