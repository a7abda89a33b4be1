package apitest

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// A stream is the answer to one watch, seen from the faults: a place where its bytes can be held back, cut or added to.
type stream struct {
	faults *faults
	out    output
	spared bool          // it meets no fault
	wake   chan struct{} // holds one token: something below has changed

	mu     sync.Mutex
	cut    *Cut
	left   int64 // bytes to write before the cut
	ended  bool  // an orderly end was asked for
	inject [][]byte
}

// signal makes the owner of the stream look at it, now or when it next waits.
func (st *stream) signal() {
	select {
	case st.wake <- struct{}{}:
	default: // it has been told already
	}
}

// An output takes what is written of a stream: its beginning, whole events, and the bytes before a cut. abort breaks it
// without an end, and returns or panics with what ends the handler.
type output interface {
	begin() error
	write(events []byte) error
	writeCut(part []byte) error
	abort(reset bool) error
}

// errEnded makes the handler of a watch return, which ends the stream in an orderly way.
var errEnded = http.ErrServerClosed

// awaitResume blocks while watches are stalled. It fails when the request has ended, by whatever side.
// A cut or an end reaches a stalled stream too.
func (st *stream) awaitResume(ctx context.Context, done <-chan struct{}) error {
	for {
		resumed := st.faults.stalledUntil()
		if resumed == nil || st.spared {
			return nil
		}
		select {
		case <-resumed:
		case <-st.wake:
			st.mu.Lock()
			now := st.ended || st.cut != nil && st.left <= 0
			st.mu.Unlock()
			if now {
				return st.write(nil)
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
			return errEnded
		}
	}
}

// write sends what was injected, then b, and flushes. If a cut falls within these bytes, it sends those before it and
// then breaks the stream, which does not return.
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
	st.mu.Unlock()
	if len(b) > 0 {
		write := st.out.write
		if cut != nil {
			write = st.out.writeCut
		}
		if err := write(b); err != nil {
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

// body is the body of a response.
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

// abort breaks the stream without an end: over HTTP/1.1 the connection closes without the last chunk, or with a TCP reset;
// over HTTP/2 the stream is reset.
func (o body) abort(reset bool) error {
	if reset {
		if conn, _, err := o.rc.Hijack(); err == nil {
			breakConn(conn, true)
		}
	}
	panic(http.ErrAbortHandler)
}

// breakConn closes a connection, with a TCP reset if that is wanted.
func breakConn(conn net.Conn, reset bool) {
	if c := faultConnOf(conn); c != nil {
		c.breakOff(reset)
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // without it, the close below is an orderly one of TCP
	}
	_ = conn.Close() // it was to break
}
