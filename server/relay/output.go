package relay

import (
	"bytes"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// An output sends the events of a watch: in the body of a response, or as the messages of a
// WebSocket.
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

// open begins the answer to a watch. It calls hungUp when the client of a WebSocket is gone; that
// of a response ends the request's context. ok is false if the handshake has failed, and was
// answered.
func open(w http.ResponseWriter, req *http.Request, hungUp func()) (out output, ok bool) {
	if !websocket.IsWebSocketUpgrade(req) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		return newBody(w, 0), true
	}
	var upgrader websocket.Upgrader
	if offered := protocols(req); len(offered) > 0 {
		upgrader.Subprotocols = offered[:1]
	}
	conn, err := upgrader.Upgrade(w, req, nil)
	if err != nil {
		return nil, false
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer hungUp()
		for {
			if _, _, err := conn.NextReader(); err != nil { // the client sends pings, and no messages
				return
			}
		}
	}()
	return messages{conn, gone}, true
}

// body is the body of a response. A reader that takes nothing for a minute is cut off.
type body struct {
	http.ResponseWriter

	rc  *http.ResponseController
	end time.Time // when the whole body has to be written; zero: never
}

// newBody returns the body of a response that may take the time limit; 0 is any time.
func newBody(w http.ResponseWriter, limit time.Duration) *body {
	o := &body{ResponseWriter: w, rc: http.NewResponseController(w)}
	if limit > 0 {
		o.end = time.Now().Add(limit)
	}
	return o
}

func (o *body) Write(b []byte) (int, error) {
	o.deadline()
	return o.ResponseWriter.Write(b)
}

func (o *body) write(event []byte) error {
	_, err := o.Write(event)
	return err
}

// flush ends with no deadline, because net/http resets a stream of HTTP/2 at its deadline even if
// nothing is being written.
func (o *body) flush() error {
	o.deadline()
	defer o.close()
	return o.rc.Flush()
}

func (o *body) deadline() {
	at := time.Now().Add(writeTimeout)
	if !o.end.IsZero() && o.end.Before(at) {
		at = o.end
	}
	_ = o.rc.SetWriteDeadline(at) // a ResponseWriter without deadlines is one of a test
}

// close lifts the deadline, because the connection may go on.
func (o *body) close() { _ = o.rc.SetWriteDeadline(time.Time{}) }

// flushed is the body of an answer that the upstream gives: everything goes on as it comes.
type flushed struct{ *body }

func (o flushed) WriteHeader(code int) {
	o.body.WriteHeader(code)
	_ = o.flush() // an error is a client that hung up
}

func (o flushed) Write(b []byte) (int, error) {
	n, err := o.body.Write(b)
	if err == nil {
		err = o.flush()
	}
	return n, err
}

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
