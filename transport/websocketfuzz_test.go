package transport

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/relist-go/relist/internal/framestest"
	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/transport/frames"
)

// FuzzWebSocket gives any bytes to a client that has shaken hands, whole, in pieces and
// byte by byte: the frames and the end are the same. Each of them comes to an end, and
// none is larger than the limit.
func FuzzWebSocket(f *testing.F) {
	for _, seed := range [][]byte{
		slices.Concat(text("{\"a\":1}\n"), text(`{"b":"}"}{}`), closing(1000, "")),
		slices.Concat(frame(opText, false, `{"a"`), frame(opPing, true, "x"), frame(opContinue, false, ":"), frame(opContinue, true, "1}"), closing(1001, "bye")),
		slices.Concat(frame(opBinary, true, "\x0a\x05ADDED\x12\x00"), frame(opPong, true, ""), frame(opClose, true, "")),
		slices.Concat(text(frameOf(300)), frame(opText, false, frameOf(300)), frame(opContinue, true, ""), text("{}")),
		{0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0, '{'},
		{0xc1, 2, '{', '}'},
		[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
	} {
		f.Add(seed, uint8(3), uint8(0), false)
		f.Add(seed, uint8(9), uint8(100), true)
	}
	f.Fuzz(func(t *testing.T, in []byte, at, limit uint8, binary bool) {
		formats := jsonFrames
		if binary {
			formats = protobufOrJSON
		}
		whole := readSocket(t, bytes.NewReader(in), int(limit), formats)
		cut := min(int(at), len(in))
		if diff := cmp.Diff(whole, readSocket(t, framestest.Pieces(in[:cut], in[cut:]), int(limit), formats)); diff != "" {
			t.Errorf("split at byte %d (-whole +split):\n%s", cut, diff)
		}
		if diff := cmp.Diff(whole, readSocket(t, iotest.OneByteReader(bytes.NewReader(in)), int(limit), formats)); diff != "" {
			t.Errorf("byte by byte (-whole +split):\n%s", diff)
		}
		for _, frame := range whole.Frames {
			if limit > 0 && len(frame) > int(limit) && !strings.HasPrefix(frame, "too large at ") {
				t.Errorf("a frame of %d bytes, over the limit of %d", len(frame), limit)
			}
		}
	})
}

// upgraded is the connection behind a handshake; what is written to it is lost.
type upgraded struct{ io.Reader }

func (upgraded) Write(p []byte) (int, error) { return len(p), nil }
func (upgraded) Close() error                { return nil }

// readSocket reads a WebSocket of these bytes to its end.
func readSocket(t *testing.T, in io.Reader, limit int, formats []frames.Format) framestest.Result {
	t.Helper()
	ctx, x := new(Client).begin(context.Background(), kind{op: "watch"}, Request{Path: "http://api.example/"})
	x.holdBody(ctx, upgraded{in})
	conn := &socketConn{liveness: newLiveness(idleLimits{}, func() {})}
	conn.shakeHands = func(header http.Header) (*Response, error) {
		answer := http.Header{
			"Upgrade": {"websocket"}, "Connection": {"Upgrade"},
			"Sec-Websocket-Accept": {acceptKey(header.Get("Sec-Websocket-Key"))},
		}
		return &Response{Body: &body{raw: upgraded{in}, exchange: x}, StatusCode: http.StatusSwitchingProtocols, Header: answer, exchange: x}, nil
	}
	dialer := websocket.Dialer{NetDialContext: conn.dial}
	ws, _, err := dialer.Dial("ws://x", nil) //nolint:bodyclose // that is the connection
	must.OK(t, err)
	s := newSocketStream(ws, conn, limit, formats)
	defer s.Close()
	return framestest.Collect(func() ([]byte, error) {
		frame, err := s.Next()
		return frame.Data, err
	})
}
