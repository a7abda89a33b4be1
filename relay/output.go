package relay

import (
	"bytes"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// An output sends the events of a watch: in the body of a response, or as the messages of a WebSocket.
type output interface {
	write(event []byte) error // which is shared, and must not be changed
	flush() error
	close()
}

// send writes an event, and flushes.
func send(o output, event []byte) error {
	if err := o.write(event); err != nil {
		return err
	}
	return o.flush()
}

// open begins the answer to a watch. hungUp is closed when the client is gone. ok is false if the handshake of a WebSocket has failed, and was
// answered.
func open(w http.ResponseWriter, req *http.Request) (out output, hungUp <-chan struct{}, ok bool) {
	if !websocket.IsWebSocketUpgrade(req) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		return body{w, http.NewResponseController(w)}, req.Context().Done(), true
	}
	var upgrader websocket.Upgrader
	if offered := protocols(req); len(offered) > 0 {
		upgrader.Subprotocols = offered[:1]
	}
	conn, err := upgrader.Upgrade(w, req, nil)
	if err != nil {
		return nil, nil, false
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			if _, _, err := conn.NextReader(); err != nil { // the client sends pings, and no messages
				return
			}
		}
	}()
	return messages{conn, gone}, gone, true
}

// body is the body of a response. A reader that takes nothing for a minute is cut off.
type body struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (o body) write(event []byte) error {
	o.deadline(time.Now().Add(writeTimeout))
	_, err := o.w.Write(event)
	return err
}

// flush ends with no deadline, because net/http resets a stream of HTTP/2 at its deadline even if nothing is being written.
func (o body) flush() error {
	o.deadline(time.Now().Add(writeTimeout))
	defer o.deadline(time.Time{})
	return o.rc.Flush()
}

func (o body) close() { o.deadline(time.Time{}) }

func (o body) deadline(at time.Time) { _ = o.rc.SetWriteDeadline(at) } // a ResponseWriter without deadlines is one of a test

// messages are the messages of a WebSocket. An event has no line break there.
type messages struct {
	conn *websocket.Conn
	gone <-chan struct{}
}

func (o messages) write(event []byte) error {
	_ = o.conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // it returns no error
	return o.conn.WriteMessage(websocket.TextMessage, bytes.TrimSuffix(event, []byte("\n")))
}

func (o messages) flush() error { return nil }

// close ends the stream as a server does that has nothing more to say.
func (o messages) close() {
	end := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = o.conn.WriteControl(websocket.CloseMessage, end, time.Now().Add(time.Second)) // an error is a client that is gone
	_ = o.conn.Close()
	<-o.gone
}
