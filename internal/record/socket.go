package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/gorilla/websocket"

	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/frames"
)

// socket passes a watch over WebSocket on to the client, message by message.
func (x *live) socket(ctx context.Context, req *http.Request, asked transport.Request) bool {
	stream, err := x.upstream.Watch(ctx, asked)
	if !x.log.turn(x.exchange, ctx.Done()) || ctx.Err() != nil {
		if err == nil {
			_ = stream.Close()
		}
		return x.end(hungUp)
	}
	if err != nil {
		return x.failed(ctx, err)
	}
	defer func() { _ = stream.Close() }()
	if _, isBody := stream.(transport.Readier); isBody {
		x.log.fail(errNoWebSocket)
		return x.end(cut)
	}
	x.log.add(x.exchange, head{socket: true})
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := upgrader.Upgrade(&hijacked{x}, req, nil)
	if err != nil {
		x.log.fail(fmt.Errorf("the client's handshake: %w", err))
		return x.end(cut)
	}
	x.links.Go(func() { // the WebSocket library answers pings while somebody reads
		for err := error(nil); err == nil; {
			_, _, err = ws.ReadMessage()
		}
	})
	if !x.conn.Settle(ctx) {
		return x.end(hungUp)
	}
	for {
		frame, err := stream.Next()
		if !x.log.turn(x.exchange, ctx.Done()) || ctx.Err() != nil {
			return x.end(hungUp)
		}
		if err != nil {
			return x.closed(ctx, ws, err)
		}
		x.log.add(x.exchange, x.reduce.event(frame.Data, nil))
		if !x.message(ctx, ws, frame.Data) {
			return false
		}
	}
}

// errNoWebSocket ends a recording: the client asked for a WebSocket, and the server answered over HTTP.
var errNoWebSocket = errors.New("watches of this server cannot be had over WebSocket, and came over HTTP: record them over HTTP")

// message does the same as send for a message of a WebSocket.
func (x *live) message(ctx context.Context, ws *websocket.Conn, data []byte) bool {
	_ = ws.WriteMessage(websocket.TextMessage, data) // what the client no longer wants is found next
	return x.conn.Settle(ctx) || x.end(hungUp)
}

// closed ends the client's WebSocket in the way in which the server's WebSocket ended. It always returns false,
// because the connection is over.
func (x *live) closed(ctx context.Context, ws *websocket.Conn, err error) bool {
	end := closing{code: websocket.CloseNormalClosure}
	var code *transport.CloseError
	var frame *frames.Error
	switch {
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
	case errors.As(err, &code) && canBeSent(code.Code):
		end = closing{code: code.Code, reason: code.Text}
	case errors.As(err, &frame) && frame.Head != "":
		// The client refuses this message, as the tap's own client did, and hangs up.
		x.log.add(x.exchange, unreadableEvent)
		if x.message(ctx, ws, []byte(unreadableEvent)) {
			<-x.conn.HungUp()
			x.end(hungUp)
		}
		return false
	default:
		return x.end(howEnded(err))
	}
	x.log.add(x.exchange, &end)
	_ = ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(end.code, end.reason)) // an error does not matter: the client may be gone
	return false
}

// canBeSent reports whether a close frame may contain a code. Some codes may not be sent, because they say that no
// close frame came.
func canBeSent(code int) bool {
	switch code {
	case websocket.CloseNoStatusReceived, websocket.CloseAbnormalClosure, websocket.CloseTLSHandshake:
		return false
	}
	return code >= websocket.CloseNormalClosure
}

// hijacked is a ResponseWriter with only what an Upgrader needs: the connection.
type hijacked struct{ *live }

func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(h.in, bufio.NewWriter(h.conn)), nil
}

// If an Upgrader refuses a handshake, it writes an answer. Nobody gets that answer, because the recording ends with
// the error.

func (*hijacked) Header() http.Header            { return http.Header{} }
func (*hijacked) Write(data []byte) (int, error) { return len(data), nil }
func (*hijacked) WriteHeader(int)                {}
