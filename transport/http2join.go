package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// making is a connection that is being made, for all requests that wait for one. The
// goroutine that makes it ends when the connection is made, or when nobody waits any
// more.
type making struct {
	cancel context.CancelFunc

	// first is the request that began it. net/http makes a connection only for a
	// request. If the server turns out to speak HTTP/1.1, net/http has sent the request
	// already, and the answer goes to its sender.
	first  *http.Request
	answer chan answered // of first; holds one

	done chan struct{}
	err  error // why there is no connection; read-only once done is closed

	// Guarded by the pool's mu. The making goes on while it is that of the pool.
	conn    *sharedConn // what was made; nil if nothing was, or if it speaks HTTP/1.1
	waiting int         // requests
	sent    bool        // first is on its way over HTTP/1.1, or was
	left    bool        // the sender of first waits no more
}

// answered is the outcome of the first request.
type answered struct {
	resp *http.Response // nil if it was not sent
	err  error
}

// waiter is a request that waits for a connection, or for room on those there are.
type waiter struct {
	pool   *streamPool
	making *making
	room   <-chan struct{}
	first  bool // its request is making.first
}

// begin begins to make a connection. It needs the pool's mu.
func (p *streamPool) begin(r *http.Request, room <-chan struct{}) *waiter {
	// The connection gets what the request's context holds, such as a trace, but not its
	// end: the connection is for all, whoever goes away.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	m := &making{cancel: cancel, first: r.Clone(ctx), answer: make(chan answered, 1), done: make(chan struct{}), waiting: 1}
	p.making = m
	go p.open(m)
	return &waiter{pool: p, making: m, room: room, first: true}
}

// wait waits until there may be a stream or a connection. If the request has been sent
// over HTTP/1.1 meanwhile, it returns the answer.
func (w *waiter) wait(ctx context.Context) (*http.Response, error) {
	m := w.making
	var answer <-chan answered
	done := m.done
	if w.first {
		answer, done = m.answer, nil
	}
	for {
		select {
		case a := <-answer:
			w.leave(withOutcome)
			if a.resp != nil {
				context.AfterFunc(ctx, m.cancel) // the body is read until then
			}
			return a.resp, a.err
		case <-done:
			w.leave(withOutcome)
			return nil, m.err
		case <-w.room:
			if w.leave(forRoom) {
				return nil, nil //nolint:nilnil // neither an answer nor an error: there is room
			}
			w.room = nil // the answer to what was sent is on its way, or there
		case <-ctx.Done():
			w.leave(givenUp)
			return nil, context.Cause(ctx)
		}
	}
}

// departure is why a waiter leaves.
type departure uint8

const (
	withOutcome departure = iota // the connection was made, or could not be; or the answer is there
	forRoom                      // there may be a stream on another connection
	givenUp
)

// leave counts a waiter off. It reports false if the waiter has to stay, because its
// request was sent: to send it again would be another request. If the last waiter gives
// up, nobody wants the connection, and making it ends.
func (w *waiter) leave(why departure) bool {
	p, m := w.pool, w.making
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.first {
		if m.sent && why == forRoom {
			return false
		}
		m.left = true
	}
	m.waiting--
	if why == givenUp && (m.waiting == 0 || w.first && m.sent) {
		p.abandon(m)
	}
	return true
}

// abandon ends the making of a connection. It needs mu.
func (p *streamPool) abandon(m *making) {
	m.cancel()
	p.finish(m, nil)
}

// finish tells all who wait that there is a connection, or why there is none. Only the
// first call counts. It needs mu.
func (p *streamPool) finish(m *making, err error) {
	if p.making != m {
		return
	}
	p.making, m.err = nil, err
	close(m.done)
}

func (p *streamPool) open(m *making) {
	var a answered
	if p.h1 != nil {
		a.resp, a.err = p.h1.RoundTrip(m.first) //nolint:bodyclose // below, or by whoever gets it; this calls agreed and upgrade
	} else {
		a.err = p.openPlain(m.first)
	}
	if errors.Is(a.err, errJoined) {
		a.err = nil
	}
	p.mu.Lock()
	p.old = p.old || a.resp != nil // over a connection that there was, perhaps
	wanted := a.resp != nil && !m.left
	p.finish(m, a.err)
	p.mu.Unlock()
	if !wanted {
		if a.resp != nil {
			_ = a.resp.Body.Close()
			a.resp = nil
		}
		m.cancel()
	}
	m.answer <- a
}

// errJoined is what net/http is told when a connection has joined the pool.
var errJoined = errors.New("the connection has joined a pool")

// openPlain makes a connection without TLS, to a server that is known to speak HTTP/2.
func (p *streamPool) openPlain(r *http.Request) error {
	conn, err := p.dial(r.Context(), "tcp", hostPort(r.URL, "80"))
	if err != nil {
		return err
	}
	frames := newH2Conn(conn)
	return p.add(r.Context(), frames, frames)
}

// agreed is called by TLS with the protocol of a connection that is being made. If that
// is HTTP/1.1, each request needs its own connection.
func (p *streamPool) agreed(conn tls.ConnectionState) error {
	if conn.NegotiatedProtocol == "h2" {
		return nil // upgrade comes next
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.old = true
	if m := p.making; m != nil {
		m.sent = true
		if m.left {
			m.cancel() // and the connection waits for another request
		}
		p.finish(m, nil)
	}
	return nil
}

// upgrade takes over a connection on which the server has agreed to HTTP/2. The request
// for which net/http has made it asks the pool again. net/http must not send that
// request: if a server hangs up, it would try forever.
func (p *streamPool) upgrade(_ string, conn *tls.Conn) http.RoundTripper {
	frames := newH2Conn(conn)
	// The connection is for all, whoever goes away.
	return handedOver{p.add(context.Background(), frames, secureH2Conn{frames, conn})}
}

// handedOver is how net/http is told that it has no connection of its own.
type handedOver struct{ err error }

func (h handedOver) RoundTrip(*http.Request) (*http.Response, error) { return nil, h.err }

// RoundTripErr is found by net/http.
func (h handedOver) RoundTripErr() error { return h.err }

// add lets requests use a connection, as soon as it is known how many may at once, and
// then returns errJoined. It closes a connection that is of no use, or whose ctx ends
// before.
func (p *streamPool) add(ctx context.Context, frames *h2Conn, conn net.Conn) error {
	// To close the connection is the only way to end what is written first, and the wait
	// for an answer.
	unwatch := context.AfterFunc(ctx, func() { _ = frames.Conn.Close() })
	defer unwatch()
	cc, err := newClientConn(ctx, p.h2, conn)
	if err == nil {
		c := &sharedConn{ClientConn: cc, frames: frames}
		if err = p.await(ctx, c); err == nil {
			p.join(c)
			return errJoined
		}
		_ = cc.Close()
	}
	_ = conn.Close() // what counts is why
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// await waits until both ends have sent their SETTINGS. A server does so at once (RFC
// 9113, section 3.4). If one does not, its connection is used all the same.
func (p *streamPool) await(ctx context.Context, c *sharedConn) error {
	var patience <-chan time.Time
	if p.settle > 0 {
		patience = time.After(p.settle)
	}
	select {
	case <-c.frames.settled:
		if !c.takesRequests() {
			return errNoUse
		}
	case <-c.frames.over:
		if c.frames.leaves() {
			return errNoUse
		}
		err := c.frames.readError()
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("the connection has failed before its first request: %w", err)
	case <-patience:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
