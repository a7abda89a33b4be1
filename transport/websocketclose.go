package transport

import (
	"fmt"
	"io"
	"strconv"

	"github.com/gorilla/websocket"
)

// CloseError is the end of a watch over WebSocket with another code than 1000, which
// is that of an end in good order, or of none: RFC 6455, section 7.4.1. It is an
// io.ErrUnexpectedEOF, since all of them say that there is more where this was cut
// off: a server or a proxy goes away (1001), restarts (1012) or has failed (1011).
type CloseError struct {
	Code int
	Text string // the server's, without credentials, at most 123 bytes
}

var closeWords = map[int]string{
	websocket.CloseGoingAway:               "going away",
	websocket.CloseProtocolError:           "protocol error",
	websocket.CloseUnsupportedData:         "unsupported data",
	websocket.CloseNoStatusReceived:        "no status",
	websocket.ClosePolicyViolation:         "policy violation",
	websocket.CloseMessageTooBig:           "message too big",
	websocket.CloseInternalServerErr:       "internal server error",
	websocket.CloseServiceRestart:          "service restart",
	websocket.CloseTryAgainLater:           "try again later",
	websocket.CloseInvalidFramePayloadData: "invalid data",
}

// Error gives the code, what it means, and the text.
func (e *CloseError) Error() string {
	text := "the WebSocket was closed with " + strconv.Itoa(e.Code)
	if word := closeWords[e.Code]; word != "" {
		text += " (" + word + ")"
	}
	if e.Text != "" {
		text += fmt.Sprintf(": %q", e.Text)
	}
	return text
}

// Unwrap returns io.ErrUnexpectedEOF.
func (e *CloseError) Unwrap() error { return io.ErrUnexpectedEOF }
