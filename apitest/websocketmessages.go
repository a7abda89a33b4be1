package apitest

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"

	"golang.org/x/net/websocket"
)

// messages is the output of a watch over WebSocket. Each event is one message: a text message for
// JSON, a binary message for other formats. In a body, protobuf has the length of an event before
// the event. A message does not have this length.
type messages struct {
	ws   *websocket.Conn
	conn *hijacked
	text bool
	cut  func(events []byte) (event, rest []byte, whole bool) // returns the first event; whole is false if the event is not complete
}

func newMessages(contentType string) *messages {
	if isText(contentType) {
		return &messages{text: true, cut: cutLine}
	}
	return &messages{cut: cutLength}
}

func isText(contentType string) bool {
	return strings.HasPrefix(contentType, "application/json")
}

func (o *messages) begin() error { return nil } // the handshake was the beginning

func (o *messages) write(events []byte) error {
	for len(events) > 0 {
		var event []byte
		event, events, _ = o.cut(events) // an injected event that is not complete is sent as it is
		if err := o.send(event); err != nil {
			return err
		}
	}
	return nil
}

func cutLine(events []byte) (event, rest []byte, whole bool) {
	n := bytes.IndexByte(events, '\n') + 1
	if n == 0 {
		return events, nil, false
	}
	return events[:n], events[n:], true
}

// cutLength returns the first event of protobuf without its length.
func cutLength(events []byte) (event, rest []byte, whole bool) {
	if len(events) < lengthBytes {
		return events, nil, false
	}
	n := uint64(binary.BigEndian.Uint32(events))
	events = events[lengthBytes:]
	if n > uint64(len(events)) {
		return events, nil, false
	}
	return events[:n], events[n:], true
}

// lengthBytes is the size of the length before an event in a body.
const lengthBytes = 4

func (o *messages) send(event []byte) error {
	var message any = event
	if o.text {
		message = string(event)
	}
	if err := websocket.Message.Send(o.ws, message); err != nil {
		return err
	}
	return o.conn.drain()
}

// writeCut sends events before a cut. If the last event is not complete, writeCut sends only a part
// of its message.
func (o *messages) writeCut(part []byte) error {
	for len(part) > 0 {
		event, rest, whole := o.cut(part)
		if !whole {
			return o.sendPart(event)
		}
		if err := o.send(event); err != nil {
			return err
		}
		part = rest
	}
	return nil
}

// sendPart sends a frame whose length is one byte more than the bytes that follow. It writes to the
// connection itself, because the library sends whole frames only.
func (o *messages) sendPart(event []byte) error {
	opcode := byte(websocket.BinaryFrame)
	if o.text {
		opcode = websocket.TextFrame
	}
	const final = 0x80
	head := appendFrameLength([]byte{final | opcode}, len(event)+1)
	if _, err := o.conn.Write(append(head, event...)); err != nil {
		return err
	}
	return o.conn.drain()
}

// appendFrameLength appends the length of a frame. There are three forms; the standard allows only
// the shortest one for each length. https://www.rfc-editor.org/rfc/rfc6455#section-5.2
func appendFrameLength(b []byte, n int) []byte {
	const length16, length64 = 126, 127
	switch {
	case n < length16:
		return append(b, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, length16), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(b, length64), uint64(n))
}

func (o *messages) abort(reset bool) error {
	breakConn(o.conn.Conn, reset)
	return errCut
}
