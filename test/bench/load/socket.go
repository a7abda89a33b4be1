package load

import (
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/relist-go/relist/test/bench/objects"
)

// A socket carries events as the messages of a WebSocket.
type socket struct {
	conn   *websocket.Conn
	closed chan struct{} // closed when the client has hung up
}

func upgrade(rw http.ResponseWriter, req *http.Request) (*socket, error) {
	upgrader := websocket.Upgrader{
		Subprotocols:    websocket.Subprotocols(req),
		CheckOrigin:     func(*http.Request) bool { return true },
		WriteBufferSize: writeBytes,
	}
	conn, err := upgrader.Upgrade(rw, req, nil)
	if err != nil {
		return nil, err
	}
	s := &socket{conn, make(chan struct{})}
	go s.read()
	return s, nil
}

// read answers pings, until the connection is closed.
func (s *socket) read() {
	defer close(s.closed)
	for {
		if _, _, err := s.conn.NextReader(); err != nil {
			return
		}
	}
}

// send sends an event: text for JSON, binary and without a length for others.
func (s *socket) send(format objects.Format, event []byte) error {
	switch format {
	case objects.JSON:
		return s.conn.WriteMessage(websocket.TextMessage, event)
	case objects.Protobuf:
		return s.conn.WriteMessage(websocket.BinaryMessage, event[4:])
	default:
		return s.conn.WriteMessage(websocket.BinaryMessage, event)
	}
}

// close ends the stream in good order.
func (s *socket) close() {
	message := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = s.conn.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second)) // it may have hung up
	_ = s.conn.Close()
	<-s.closed
}
