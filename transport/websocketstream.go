package transport

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// socketStream is a watch whose frames are the messages of a WebSocket. kube-apiserver
// sends an event as one message: of text for JSON, and of bytes for the encodings that
// are no text, which are then without the length that stands before each event in a
// body.
type socketStream struct {
	ws       *websocket.Conn
	conn     *socketConn
	exchange *exchange
	onRead   func(n int)

	types messageTypes
	cut   interface{ next() ([]byte, error) } // events out of the present message; nil between two
	text  *frameReader
	whole *wholeReader
	read  int64 // bytes of messages so far
	err   error // what Next returns from now on
}

func newSocketStream(ws *websocket.Conn, conn *socketConn, limit int, accept string) *socketStream {
	x := conn.response.exchange
	s := &socketStream{ws: ws, conn: conn, exchange: x, onRead: x.onRead, types: newMessageTypes(accept)}
	// Only what belongs to a message is a sign of the watch's life: a pong says nothing
	// of it.
	x.onRead = nil
	s.text = newFrameReader(nil, limit)
	s.text.quote = x.quote
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
	var large *FrameTooLargeError
	switch {
	case err == nil:
		return Frame{Data: data, exchange: s.exchange}, nil
	case errors.As(err, &large):
		return Frame{}, s.exchange.fail(err)
	}
	if ended := s.exchange.ended(); ended != nil {
		return Frame{}, s.exchange.fail(ended)
	}
	s.err = err
	var known *RequestError
	if err != io.EOF && !errors.As(err, &known) { //nolint:errorlint // only the bare one is a clean end
		s.err = s.exchange.fail(err)
	}
	return Frame{}, s.err
}

// next returns a frame out of the message that is being read, or else of the next one.
func (s *socketStream) next() ([]byte, error) {
	for {
		if s.cut == nil {
			if err := s.nextMessage(); err != nil {
				return nil, err
			}
		}
		data, err := s.cut.next()
		var large *FrameTooLargeError
		switch {
		case err == nil:
			s.types.begins(data)
		case errors.As(err, &large):
			s.types.begins(large.Head)
		case err == io.EOF: //nolint:errorlint // the bare one is the end of the message
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
	if s.types.next(typ == websocket.BinaryMessage) {
		s.whole.reset(r, s.read)
		s.cut = s.whole
	} else {
		s.text.reset(r, s.read)
		s.cut = s.text
	}
	return nil
}

// messageReader reads one message.
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

// reset begins with another reader, of whose bytes the first has an offset in the stream.
func (f *frameReader) reset(r io.Reader, offset int64) {
	f.drop(f.end)
	f.offset = offset
	f.r, f.inFrame, f.skipping, f.err, f.readErr = r, false, false, nil, nil
}

// broken says why there are no more messages: what it was for the connection where
// that has failed, or what the server closed it with, or that it does not speak
// WebSocket. It is io.EOF if that was in good order.
func (s *socketStream) broken(err error) error {
	var closed *websocket.CloseError
	switch {
	case errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure: // no server sends that code
		if closed.Code == websocket.CloseNormalClosure {
			return io.EOF
		}
		return &CloseError{Code: closed.Code, Text: string(s.exchange.redactWhole([]byte(closed.Text)))}
	case errors.Is(s.conn.err, io.EOF):
		return io.ErrUnexpectedEOF // of a connection, not of a WebSocket
	case s.conn.err != nil:
		return s.conn.err
	}
	return &FrameError{Offset: s.read, Reason: strings.TrimPrefix(err.Error(), "websocket: ")}
}

// Close ends the connection without a message that says so: it must not wait for the
// server to take one, and to the server of a watch both are the same.
func (s *socketStream) Close() error {
	_ = s.conn.Close() // as for a stream over HTTP
	return nil
}

// MediaType is that of the last frame. Before the first it is "" if several were asked
// for, since the answer to a handshake names none.
func (s *socketStream) MediaType() string { return s.types.current }
