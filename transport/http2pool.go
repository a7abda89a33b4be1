package transport

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// streamPool shares connections of HTTP/2 among requests, and makes another one when
// all that there are have as many streams as their server allows. Where a server turns
// out to speak HTTP/1.1, it stands aside.
//
// The connections are [http.ClientConn]s. The pool is here because that of net/http uses
// a connection before it knows how many streams it may have: a program that opens its
// watches together has those refused that are too many, and they come again after 1 s,
// 2 s, 4 s. A connection joins this pool when its SETTINGS are known, and one is made at
// a time, so that two hundred requests do not begin with two hundred handshakes. A
// request that waits for a connection takes a stream that becomes free before that.
type streamPool struct {
	h1     *http.Transport // makes connections, and speaks HTTP/1.1; nil if dial does
	h2     *http.Transport // speaks HTTP/2 on a connection that it is given
	dial   dialFunc        // makes plain connections
	settle time.Duration   // how long SETTINGS are waited for; 0: without end

	room signal // a stream may be free

	mu     sync.Mutex
	conns  []*sharedConn // the oldest first: so that the newest are the first to be idle
	making *making       // nil: none
	old    bool          // the last connection that was made speaks HTTP/1.1
}

// sharedConn is a connection in the pool.
type sharedConn struct {
	*http.ClientConn

	frames   *h2Conn
	answered atomic.Bool // a request
	used     bool        // by a request; guarded by the pool's mu
}

// takesRequests reports whether a stream is free. Of a connection that has ended before
// its first request, Available alone says that there is one.
func (c *sharedConn) takesRequests() bool { return c.Err() == nil && c.Available() > 0 }

const (
	// maxSends is how often a request is sent, if each time its connection is given up
	// (GOAWAY) before it has answered anybody, or the stream is refused. One is what a
	// server does that restarts, and the request is safe to send again; more of them come
	// from one that takes none, and the pace at which to try that again is the caller's.
	maxSends = 3

	// maxUnlucky is how often a request is sent, if each time its connection has answered
	// others before it is given up. kube-apiserver gives connections up at random
	// (--goaway-chance), and with each one whatever is on it.
	maxUnlucky = 20
)

var (
	errGivenUp = errors.New("the server gives up one connection after the other (GOAWAY) before it answers the request")
	errNoUse   = errors.New("the server takes no request on a new connection: it is going away (GOAWAY), or allows no streams")
)

// RoundTrip sends a request over a connection that has room, or waits for one.
func (p *streamPool) RoundTrip(r *http.Request) (*http.Response, error) {
	for sends, failed := 0, 0; ; {
		c, w := p.pick(r)
		switch {
		case c != nil:
			resp, err := c.send(r)
			if err == nil || r.Context().Err() != nil || !err.again {
				return resp, err.orNil()
			}
			sends++
			if err.refused || !c.answered.Load() {
				failed++
			}
			if failed == maxSends || sends == maxUnlucky {
				return nil, err.last
			}
		case w != nil:
			resp, err := w.wait(r.Context())
			if resp != nil || err != nil {
				return resp, err
			}
			// A connection that has ended before anybody could use it has been tried.
			if p.wasUseless(w.making) {
				if failed++; failed == maxSends {
					return nil, errGivenUp
				}
			}
		default:
			return p.h1.RoundTrip(r)
		}
	}
}

// pick returns a connection with a stream that is reserved for the request, or what to
// wait for, or neither, if the request is for HTTP/1.1.
func (p *streamPool) pick(r *http.Request) (*sharedConn, *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.old {
		return nil, nil
	}
	if c := p.reserve(); c != nil {
		return c, nil
	}
	room := p.room.next()
	if c := p.reserve(); c != nil { // a stream that became free before next is missed by it
		return c, nil
	}
	if p.making == nil {
		return nil, p.begin(r, room)
	}
	p.making.waiting++
	return nil, &waiter{pool: p, making: p.making, room: room}
}

// reserve returns a connection with a stream reserved on it, nil if none has one. It
// forgets connections that have ended. It needs mu.
//
// None of the methods of a ClientConn that are called with mu held waits for mu: what
// they call back is told to room alone.
func (p *streamPool) reserve() *sharedConn {
	p.conns = slices.DeleteFunc(p.conns, func(c *sharedConn) bool { return c.Err() != nil })
	for _, c := range p.conns {
		if c.Reserve() == nil {
			c.used = true
			return c
		}
	}
	return nil
}

// join lets requests use a connection.
func (p *streamPool) join(c *sharedConn) {
	p.mu.Lock()
	p.conns, p.old = append(p.conns, c), false
	if p.making != nil {
		p.making.conn = c
	}
	p.mu.Unlock()
	c.SetStateHook(func(*http.ClientConn) { p.room.fire() })
	p.room.fire()
}

// wasUseless reports whether a connection was made, and has ended before a request
// could use it.
func (p *streamPool) wasUseless(m *making) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return m.conn != nil && !m.conn.used && !m.conn.takesRequests()
}

// closeIdle closes the connections that nothing is using, and ends the making of one
// that nobody waits for.
func (p *streamPool) closeIdle() {
	if p.h1 != nil {
		p.h1.CloseIdleConnections()
	}
	p.mu.Lock()
	if p.making != nil && p.making.waiting == 0 {
		p.abandon(p.making)
	}
	var idle []*sharedConn
	p.conns = slices.DeleteFunc(p.conns, func(c *sharedConn) bool {
		if c.InFlight() > 0 {
			return false
		}
		idle = append(idle, c) // and nothing can be reserved on it from now on
		return true
	})
	p.mu.Unlock()
	for _, c := range idle {
		_ = c.Close() // nobody is waiting for what it might say
	}
}

// sendError is why a request has no answer.
type sendError struct {
	error

	again   bool  // it is safe to send the request again
	refused bool  // the stream was
	last    error // what to say if it is not sent again for all that
}

func (e *sendError) orNil() error {
	if e == nil {
		return nil
	}
	return e.error
}

// send sends a request on the stream that is reserved for it.
func (c *sharedConn) send(r *http.Request) (*http.Response, *sendError) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	resp, err := c.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err == nil {
		c.answered.Store(true)
		return resp, nil
	}
	failed := &sendError{error: err, last: err}
	var reset streamError
	switch {
	case errors.As(err, &reset):
		// The server has done nothing (RFC 9113, section 8.7).
		failed.refused = reset.Code == codeRefusedStream
		failed.again = failed.refused
	case c.frames.leaves():
		// A stream above the last one that the GOAWAY names was not looked at. One below
		// it may have been, but a GET does no harm twice.
		failed.again, failed.last = true, errGivenUp
	case !sent.Load():
		failed.again = c.Err() != nil
	}
	return nil, failed
}

// streamError is what net/http has for a stream that was reset. It offers itself to
// errors.As for a struct with these fields: https://go.dev/issue/53896.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string {
	return fmt.Sprintf("stream %d was reset: code %d", e.StreamID, e.Code)
}

const codeRefusedStream = 0x7

// signal wakes all who wait for it.
type signal struct {
	mu sync.Mutex
	ch chan struct{} // nil: nobody waits
}

// next returns what is closed by the next fire.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
