package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/relist-go/relist/transport/frames"
)

// socketStream is a watch whose frames are the messages of a WebSocket. kube-apiserver
// sends an event as one message: of text for a format that is text, and of bytes for
// others, which are then without the length that stands before each event in a body.
type socketStream struct {
	ws       *websocket.Conn
	conn     *socketConn
	exchange *exchange
	onRead   func(n int)

	formats messageFormats
	cut     interface{ Next() ([]byte, error) } // events out of the present message; nil between two
	text    *frames.Reader
	whole   *wholeReader
	read    int64 // bytes of messages so far
	err     error // what Next returns from now on
}

func newSocketStream(ws *websocket.Conn, conn *socketConn, limit int, formats []frames.Format) *socketStream {
	x := conn.response.exchange
	s := &socketStream{ws: ws, conn: conn, exchange: x, onRead: x.onRead, formats: newMessageFormats(formats)}
	// Only what belongs to a message is a sign of the watch's life: a pong says nothing
	// of it.
	x.onRead = nil
	s.text = frames.NewReader(nil, nil, limit, x.quote)
	s.whole = &wholeReader{limit: limit, quote: x.quote}
	// What cannot be answered may still be read to its end.
	ws.SetPingHandler(func(data string) error {
		_ = ws.WriteControl(websocket.PongMessage, []byte(data), time.Time{})
		return nil
	})
	conn.liveness.ping = func() {
		// A failure to write shows in what is read, or as a pong that does not come.
		_ = ws.WriteControl(websocket.PingMessage, nil, time.Time{})
	}
	return s
}

func (s *socketStream) Next() (Frame, error) {
	if ended := s.exchange.ended(); ended != nil {
		return Frame{}, s.exchange.fail(ended)
	}
	if s.err != nil {
		return Frame{}, s.err
	}
	data, err := s.next()
	if err == nil {
		return Frame{Data: data, exchange: s.exchange}, nil
	}
	err = s.exchange.failRead(err)
	if !errors.As(err, new(*frames.TooLargeError)) { // which concerns one frame only
		s.err = err
	}
	return Frame{}, err
}

// next returns a frame out of the message that is being read, or else of the next one.
func (s *socketStream) next() ([]byte, error) {
	for {
		if s.cut == nil {
			if err := s.nextMessage(); err != nil {
				return nil, err
			}
		}
		data, err := s.cut.Next()
		if err == io.EOF { //nolint:errorlint // the bare one is the end of the message
			s.cut = nil
			continue
		}
		return data, err
	}
}

// nextMessage waits for a message. What is left of the last one is passed over.
func (s *socketStream) nextMessage() error {
	typ, r, err := s.ws.NextReader()
	if err != nil {
		return s.broken(err)
	}
	r = &messageReader{r: r, stream: s}
	if format := s.formats.next(typ == websocket.TextMessage); format.Text() {
		s.text.Reset(r, s.formats.textFramer(), s.read)
		s.cut = s.text
	} else {
		s.whole.reset(r, s.read)
		s.cut = s.whole
	}
	return nil
}

type messageReader struct {
	r      io.Reader
	stream *socketStream
}

func (m *messageReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.stream.read += int64(n)
	if n > 0 && m.stream.onRead != nil {
		m.stream.onRead(n)
	}
	if err == nil || err == io.EOF { //nolint:errorlint // the end of the message, not of the watch
		return n, err
	}
	err = m.stream.broken(err)
	if err == io.EOF { //nolint:errorlint // only the bare one is a clean end
		err = fmt.Errorf("the WebSocket was closed inside a message: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}

// broken says why there are no more messages: what it was for the connection where
// that has failed, or what the server closed it with, or that it does not speak
// WebSocket. It is io.EOF if that was cleanly.
func (s *socketStream) broken(err error) error {
	var closed *websocket.CloseError
	switch {
	case errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure: // no server sends that code
		if closed.Code == websocket.CloseNormalClosure {
			return io.EOF
		}
		return s.exchange.closedWith(*closed)
	case errors.Is(s.conn.err, io.EOF):
		return io.ErrUnexpectedEOF // of a connection, not of a WebSocket
	case s.conn.err != nil:
		return s.conn.err
	}
	return &frames.Error{Offset: s.read, Reason: strings.TrimPrefix(err.Error(), "websocket: ")}
}

// Close ends the connection without a message that says so: it must not wait for the
// server to take one, and to the server of a watch both are the same.
func (s *socketStream) Close() error {
	_ = s.conn.Close() // as for a stream over HTTP
	return nil
}

// MediaType is that of the last frame. Before the first it is "" if several were asked
// for, since the answer to a handshake names none.
func (s *socketStream) MediaType() string {
	if s.formats.current == nil {
		return ""
	}
	return s.formats.current.StreamMediaType()
}

// messageFormats tells the format of messages. The answer to a handshake names none: what
// was asked for does, and whether a message is text.
type messageFormats struct {
	asked   []frames.Format
	current frames.Format // of the last message; nil before the first if several were asked for
	framer  frames.Framer // of messages of text
}

func newMessageFormats(asked []frames.Format) messageFormats {
	m := messageFormats{asked: asked}
	if len(asked) == 1 {
		m.current = asked[0]
	}
	return m
}

func (m *messageFormats) next(text bool) frames.Format {
	if len(m.asked) > 1 {
		i := slices.IndexFunc(m.asked, func(f frames.Format) bool { return f.Text() == text })
		m.current = m.asked[max(i, 0)]
	}
	return m.current
}

// textFramer returns what finds events in a message of text. It is the same for every
// message: no more than one format is used for text, and between two messages there is
// nothing to remember.
func (m *messageFormats) textFramer() frames.Framer {
	if m.framer == nil {
		m.framer = m.current.NewFramer()
	}
	return m.framer
}

const (
	// socketBuffer is the size that buffers start with.
	socketBuffer = 16 << 10
	// keepMessage is the size up to which the memory of a message is kept for the next.
	keepMessage = 64 << 10
)

// wholeReader reads a message that is one event.
type wholeReader struct {
	limit int // 0 is unlimited
	quote func(text []byte, bound int) []byte

	r      io.Reader
	offset int64 // of the message
	buf    []byte
	over   bool // it was too large: the rest of it is passed over
	done   bool
}

func (w *wholeReader) reset(r io.Reader, offset int64) {
	w.r, w.offset, w.over, w.done = r, offset, false, false
	if cap(w.buf) > keepMessage {
		w.buf = nil
	}
	w.buf = w.buf[:0]
}

// Next returns the message, valid until the next call, and then io.EOF.
func (w *wholeReader) Next() ([]byte, error) {
	if w.over {
		w.over, w.done = false, true
		if _, err := io.Copy(io.Discard, w.r); err != nil {
			return nil, err
		}
	}
	for !w.done {
		if len(w.buf) == cap(w.buf) {
			w.buf = slices.Grow(w.buf, w.room())
		}
		n, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+n]
		switch {
		case w.limit > 0 && len(w.buf) > w.limit:
			w.over = true
			head := w.quote(w.buf[:w.limit+1], frames.TooLargeHead)
			return nil, &frames.TooLargeError{Limit: w.limit, Offset: w.offset, Head: bytes.Clone(head)}
		case err == io.EOF:
			w.done = true
			if len(w.buf) > 0 {
				return w.buf, nil
			}
		case err != nil:
			return nil, err
		}
	}
	return nil, io.EOF
}

// room is how many bytes more the buffer gets: as many as it has, and no more than
// what tells that the message is too large.
func (w *wholeReader) room() int {
	n := max(socketBuffer, len(w.buf))
	if w.limit > 0 {
		n = min(n, max(socketBuffer, w.limit+1-len(w.buf)))
	}
	return n
}
