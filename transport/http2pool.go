package transport

import (
	"errors"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// streamPool shares connections of HTTP/2 among requests. When all connections have as
// many streams as their server allows, it makes another one. If a server turns out to
// speak HTTP/1.1, requests go past the pool.
//
// The connections are [http.ClientConn]s. The pool of net/http is not used, because it
// uses a connection before it knows how many streams the server allows. If a program
// opens its watches together, the server refuses those that are too many, and net/http
// sends them again after 1 s, 2 s, 4 s. Of the 250 requests of
// TestBurstBeyondTheStreamLimit, begun together, net/http (Go 1.26) answers half within
// 4.5 s and the last after 6.4 s; here all are answered within 0.1 s.
//
// A connection joins this pool when its SETTINGS are known. One connection is made at a
// time, so that two hundred requests do not begin with two hundred handshakes. A
// request that waits for a connection takes a stream if one becomes free before.
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

type sharedConn struct {
	*http.ClientConn

	frames   *h2Conn
	answered atomic.Bool // a request
	used     bool        // by a request; guarded by the pool's mu
}

// takesRequests reports whether a stream is free. Available alone is not enough: it
// counts the streams of a connection that has ended before its first request.
func (c *sharedConn) takesRequests() bool { return c.Err() == nil && c.Available() > 0 }

const (
	// maxSends bounds how often a request is sent if each time the server gives its
	// connection up (GOAWAY) before it has answered anybody. A server that restarts does
	// so once, and the request is safe to send again. A server that does so again takes
	// no requests, and the caller decides at which pace to try again.
	maxSends = 3

	// maxUnlucky bounds how often a request is sent if each time its connection has
	// answered others before the server gives it up. kube-apiserver gives connections up
	// at random (--goaway-chance), with every request that is on them.
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
			if !c.answered.Load() {
				failed++
			}
			if failed == maxSends || sends == maxUnlucky {
				return nil, err.last
			}
			again, ok := sendAgain(r)
			if !ok {
				return nil, err.last
			}
			r = again
		case w != nil:
			resp, err := w.wait(r.Context())
			if err != nil && r.Body != nil {
				_ = r.Body.Close() // what counts is why nobody has read it
			}
			if resp != nil || err != nil {
				return resp, err
			}
			if w.first { // and net/http, which made the connection for it, has closed its body
				again, ok := sendAgain(r)
				if !ok {
					return nil, errGivenUp
				}
				r = again
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

// pick returns a connection with a stream that is reserved for the request, or else
// what to wait for. It returns neither if the request has to go over HTTP/1.1.
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
	if c := p.reserve(); c != nil { // next does not see a stream that became free before it
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
// The methods of a ClientConn may be called with mu held, because what they call back
// only fires room and does not wait for mu.
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

	again bool  // it is safe to send the request again
	last  error // what to say if it was sent too often
}

func (e *sendError) orNil() error {
	if e == nil {
		return nil
	}
	return e.error
}

// send sends a request on the stream that is reserved for it.
//
// A stream that the server refuses (REFUSED_STREAM) is safe to send again (RFC 9113, section 8.7).
// The caller decides when: a request that is sent again here would not count in the caller's
// limits.
func (c *sharedConn) send(r *http.Request) (*http.Response, *sendError) {
	// net/http calls GotConn for the connections of its own pool, and not for a ClientConn.
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: c.frames, Reused: c.answered.Load()})
	}
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	resp, err := c.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err == nil {
		c.answered.Store(true)
		return resp, nil
	}
	failed := &sendError{error: err, last: err}
	switch {
	case c.frames.leaves() && (isSafe(r.Method) || !sent.Load()):
		// A stream above the last one that the GOAWAY names was not looked at. One below
		// it may have been, but a GET does no harm twice.
		failed.again, failed.last = true, errGivenUp
	case !sent.Load():
		failed.again = c.Err() != nil
	}
	return nil, failed
}

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
