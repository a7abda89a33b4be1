package apitest

import (
	"bytes"
	"encoding/binary"
	"strings"

	"golang.org/x/net/websocket"
)

// messages is the output of a watch over WebSocket: each event is one message, of text for JSON and of bytes for the
// encodings that are none. What protobuf has before each event in a body, its length, is left out.
type messages struct {
	ws   *websocket.Conn
	conn *hijacked
	text bool
	cut  func(events []byte) (event, rest []byte) // takes one event off; the last may be broken
}

func newMessages(contentType string) *messages {
	switch {
	case isText(contentType):
		return &messages{text: true, cut: cutLine}
	case contentType == cborStreamMediaType:
		return &messages{cut: cutCBOR}
	}
	return &messages{cut: cutLength}
}

// isText reports whether a stream of this type is one of text.
func isText(contentType string) bool {
	return strings.HasPrefix(contentType, "application/json")
}

func (o *messages) begin() error { return nil } // the handshake was it

func (o *messages) write(events []byte) error {
	for len(events) > 0 {
		var event []byte
		event, events = o.cut(events)
		if err := o.send(event); err != nil {
			return err
		}
	}
	return nil
}

func cutLine(events []byte) (event, rest []byte) {
	n := bytes.IndexByte(events, '\n') + 1
	if n == 0 {
		n = len(events)
	}
	return events[:n], events[n:]
}

// cutLength leaves the length out.
func cutLength(events []byte) (event, rest []byte) {
	if len(events) < lengthBytes {
		return events, nil
	}
	n := int(binary.BigEndian.Uint32(events))
	events = events[lengthBytes:]
	n = min(n, len(events))
	return events[:n], events[n:]
}

// lengthBytes is the size of the length before an event in a body.
const lengthBytes = 4

func (o *messages) send(event []byte) error {
	if o.text {
		return websocket.Message.Send(o.ws, string(event))
	}
	return websocket.Message.Send(o.ws, event)
}

// writeCut breaks off inside a message if the last event is not whole.
func (o *messages) writeCut(part []byte) error {
	whole := len(part)
	if o.text {
		whole = bytes.LastIndexByte(part, '\n') + 1
	}
	if err := o.write(part[:whole]); err != nil || whole == len(part) {
		return err
	}
	// A frame that announces one byte more than there will be.
	rest := part[whole:]
	_, err := o.conn.Write(append(binary.BigEndian.AppendUint64([]byte{0x81, 127}, uint64(len(rest)+1)), rest...))
	return err
}

func (o *messages) abort(reset bool) error {
	breakConn(o.conn.Conn, reset)
	return errCut
}
