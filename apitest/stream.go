package apitest

import (
	"compress/gzip"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// A stream is the answer to one watch. Faults use it to hold bytes back, to cut the answer, and to
// add bytes.
type stream struct {
	faults   *faults
	out      output
	resource string        // "deployments.apps"
	spared   bool          // no fault changes this stream
	wake     chan struct{} // holds a token after a field below has changed

	mu      sync.Mutex
	open    bool // the head of the answer was sent
	cut     *Cut
	left    int64    // bytes to write before the cut
	ended   bool     // the stream has to end cleanly
	writing bool     // the client has not taken all bytes of the last write
	inject  [][]byte // to be sent before the next bytes
}

// signal tells the goroutine of the stream that a field has changed. The goroutine looks when it
// waits next.
func (st *stream) signal() {
	select {
	case st.wake <- struct{}{}:
	default: // there is a token already
	}
}

// An output sends a stream to the client. begin sends the head, write sends whole events, and
// writeCut sends the bytes before a cut. abort breaks the connection or the stream without an end.
// Then abort returns an error or panics, so that the handler ends.
type output interface {
	begin() error
	write(events []byte) error
	writeCut(part []byte) error
	abort(reset bool) error
}

// errEnded makes the handler of a watch return, so that the stream ends cleanly.
var errEnded = http.ErrServerClosed

// awaitResume waits while watches are stalled. It returns an error if the client or the server has
// ended the request. A cut or an end also takes effect on a stalled stream.
func (st *stream) awaitResume(ctx context.Context, done <-chan struct{}) error {
	for {
		resumed := st.faults.stalledUntil()
		if resumed == nil || st.spared {
			return nil
		}
		st.mu.Lock()
		now := st.ended || st.cut != nil && st.left <= 0
		st.mu.Unlock()
		if now {
			return st.write(nil)
		}
		select {
		case <-resumed:
		case <-st.wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
			return errEnded
		}
	}
}

// write sends the injected bytes, then b, and flushes. If a cut is within these bytes, write sends
// the bytes before the cut, and then breaks the stream. In that case it may not return, see output.
func (st *stream) write(b []byte) error {
	st.mu.Lock()
	if len(st.inject) > 0 {
		var all []byte
		for _, raw := range st.inject {
			all = append(all, raw...)
		}
		st.inject = nil
		b = append(all, b...)
	}
	cut, ended := st.cut, st.ended
	if cut != nil {
		b = b[:min(int64(len(b)), st.left)]
		st.left -= int64(len(b))
		if st.left > 0 {
			cut = nil
		}
	}
	st.writing = len(b) > 0
	st.mu.Unlock()
	if len(b) > 0 {
		write := st.out.write
		if cut != nil {
			write = st.out.writeCut
		}
		err := write(b)
		st.mu.Lock()
		st.writing, ended = false, st.ended
		st.mu.Unlock()
		if err != nil {
			return err
		}
	}
	switch {
	case cut != nil && cut.Clean, ended:
		return errEnded
	case cut != nil:
		return st.out.abort(cut.Reset)
	}
	return nil
}

// body is the output of a watch over HTTP: the body of the response.
type body struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func newBody(w http.ResponseWriter) body { return body{w, http.NewResponseController(w)} }

func (o body) begin() error { return o.rc.Flush() }

func (o body) write(b []byte) error {
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	return o.rc.Flush()
}

func (o body) writeCut(b []byte) error { return o.write(b) }

// abort breaks the stream without an end. Over HTTP/1.1, the connection closes without the last
// chunk; if reset is true, it closes with a TCP reset. Over HTTP/2, the stream is reset.
func (o body) abort(reset bool) error {
	if reset {
		if conn, _, err := o.rc.Hijack(); err == nil {
			breakConn(conn, true)
		}
	}
	panic(http.ErrAbortHandler)
}

// gzipBody is the body of a watch with initial events, which kube-apiserver has compressed since
// 1.37, also behind the initial events. Each write is a gzip file of its own.
type gzipBody struct {
	body
	zip *gzip.Writer
}

func (o gzipBody) write(b []byte) error {
	o.zip.Reset(o.w)
	_, err := o.zip.Write(b)
	if err == nil {
		err = o.zip.Flush() // a reader of the end of a file may wait for the next one
	}
	return errors.Join(err, o.zip.Close(), o.rc.Flush())
}

func (o gzipBody) writeCut(b []byte) error { return o.write(b) }

// A cutWriter is the body of a list that is cut: a stream, as the answer to a watch is.
type cutWriter struct {
	http.ResponseWriter
	stream *stream
}

// cutList returns the writer for a list: a cutWriter if the list must be cut, and otherwise w.
func (f *faults) cutList(w http.ResponseWriter, req *http.Request, resource string) http.ResponseWriter {
	f.mu.Lock()
	defer f.mu.Unlock()
	cut := takeCut(&f.listCuts, resource, spared(req))
	if cut == nil {
		return w
	}
	return cutWriter{w, &stream{faults: f, out: newBody(w), cut: cut, left: cut.After}}
}

// Write passes on the bytes before the cut, and the head before them.
func (o cutWriter) Write(b []byte) (int, error) {
	if n := int64(len(b)); n <= o.stream.left { // the cut is before the next byte, if there is one
		o.stream.left -= n
		return o.ResponseWriter.Write(b)
	}
	if err := o.stream.out.begin(); err != nil {
		return 0, err
	}
	if err := o.stream.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// breakConn closes a connection. If reset is true, it closes with a TCP reset.
func breakConn(conn net.Conn, reset bool) {
	if c := faultConnOf(conn); c != nil {
		c.breakOff(reset)
		return
	}
	if reset {
		resetOnClose(conn)
	}
	_ = conn.Close() // an error does not matter: the connection had to break
}
