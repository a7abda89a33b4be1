package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// streamPool shares connections of HTTP/2 among requests, and makes another one when
// all that there are have as many streams as their server allows. Where a server turns
// out to speak HTTP/1.1, it stands aside.
//
// It is here because the pools of net/http and x/net/http2 use a connection before they
// know how many streams it may have: a program that opens its watches together has those
// refused that are too many, and they come again after 1 s, 2 s, 4 s. A connection
// joins this pool when its SETTINGS are known, and one is made at a time, so that two
// hundred requests do not begin with two hundred handshakes.
//
//nolint:staticcheck // see http2.go
type streamPool struct {
	h1     *http.Transport  // makes connections, and speaks HTTP/1.1; nil if dial does
	h2     *http2.Transport // of which this is the ConnPool
	dial   dialFunc         // makes plain connections
	settle time.Duration    // how long SETTINGS are waited for; 0: not at all

	mu     sync.Mutex
	conns  []*http2.ClientConn // the oldest first: so that the newest are the first to be idle
	making *making             // nil: none
	added  int                 // how many there were ever
	old    bool                // the last connection that was made speaks HTTP/1.1
}

// making is a connection that is being made, for all who wait for one.
type making struct {
	done chan struct{}
	err  error // why there is none; read-only once done
}

// noRoomError is what GetClientConn returns where there is none.
type noRoomError struct{}

func (noRoomError) Error() string { return "no connection has room for another stream" }

// IsHTTP2NoCachedConnError makes net/http go on to make a connection.
func (noRoomError) IsHTTP2NoCachedConnError() {}

// RoundTrip sends a request over a connection that has room, or waits for one.
func (p *streamPool) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		p.mu.Lock()
		old, added := p.old, p.added
		p.mu.Unlock()
		if old {
			return p.h1.RoundTrip(r)
		}
		resp, err := p.h2.RoundTrip(r) //nolint:staticcheck // see http2.go
		if !errors.Is(err, noRoomError{}) {
			return resp, err
		}
		m, mine := p.make(added)
		if m == nil {
			continue // there is one since
		}
		if mine {
			if resp, err = p.open(r, m); !errors.Is(err, noRoomError{}) {
				return resp, err
			}
			continue
		}
		select {
		case <-m.done:
			if m.err != nil {
				return nil, m.err
			}
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
}

// make returns the connection that is being made, and whether it is the caller's to make;
// nil if one was added since there were so many.
func (p *streamPool) make(added int) (m *making, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.added != added:
		return nil, false
	case p.making != nil:
		return p.making, false
	}
	p.making = &making{done: make(chan struct{})}
	return p.making, true
}

// open makes a connection, and sends the request over it unless others were faster.
func (p *streamPool) open(r *http.Request, m *making) (*http.Response, error) {
	var resp *http.Response
	var err error
	if p.h1 != nil {
		ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
			GotConn: func(info httptrace.GotConnInfo) { p.got(m, info.Conn) },
		})
		resp, err = p.h1.RoundTrip(r.WithContext(ctx)) // calls upgrade
	} else {
		err = p.openPlain(r.Context(), r.URL.Host)
	}
	failed := err
	if errors.Is(err, noRoomError{}) || r.Context().Err() != nil {
		failed = nil // the others go on: it says nothing of the server
	}
	p.made(m, failed)
	return resp, err
}

// openPlain makes a connection without TLS, to a server that is known to speak HTTP/2.
func (p *streamPool) openPlain(ctx context.Context, addr string) error {
	conn, err := p.dial(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if err := p.add(conn); err != nil { //nolint:contextcheck // the connection is for all, whoever goes away
		return err
	}
	return noRoomError{} // there is now, for whoever comes first
}

// upgrade takes a connection over on which the server has agreed to HTTP/2.
func (p *streamPool) upgrade(_ string, conn *tls.Conn) http.RoundTripper {
	if err := p.add(conn); err != nil {
		return failedUpgrade{err}
	}
	return p.h2
}

// failedUpgrade is how net/http is told that there is no connection after all.
type failedUpgrade struct{ err error }

func (f failedUpgrade) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// RoundTripErr is looked for by net/http.
func (f failedUpgrade) RoundTripErr() error { return f.err }

// add lets requests use a connection, once it is known how many may at once. SETTINGS
// come first on a connection (RFC 9113, section 3.4), so the answer to a ping comes after
// them.
func (p *streamPool) add(conn net.Conn) error {
	cc, err := p.h2.NewClientConn(conn) //nolint:staticcheck // see http2.go
	if err != nil {
		_ = conn.Close()
		return err
	}
	if p.settle > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), p.settle)
		_ = cc.Ping(ctx) // a connection that is of no use is found out by the request
		cancel()
	}
	p.mu.Lock()
	p.conns, p.old = append(p.conns, cc), false
	p.added++
	m := p.making
	p.mu.Unlock()
	p.made(m, nil)
	return nil
}

// made ends the wait for a connection. It may be called more than once.
func (p *streamPool) made(m *making, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m == nil || p.making != m {
		return
	}
	m.err, p.making = err, nil
	close(m.done)
}

// got is told which connection a request has. If that is one of HTTP/1.1, each request
// needs its own.
func (p *streamPool) got(m *making, conn net.Conn) {
	secure, ok := conn.(*tls.Conn)
	if !ok || secure.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
		p.mu.Lock()
		p.old = true
		p.mu.Unlock()
	}
	p.made(m, nil)
}

// GetClientConn implements http2.ClientConnPool.
func (p *streamPool) GetClientConn(*http.Request, string) (*http2.ClientConn, error) { //nolint:staticcheck // see http2.go
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cc := range p.conns {
		if cc.ReserveNewRequest() {
			return cc, nil
		}
	}
	return nil, noRoomError{}
}

// MarkDead implements http2.ClientConnPool.
func (p *streamPool) MarkDead(dead *http2.ClientConn) { //nolint:staticcheck // see http2.go
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(cc *http2.ClientConn) bool { return cc == dead }) //nolint:staticcheck // see http2.go
}

// closeIdle closes the connections that nothing is using.
func (p *streamPool) closeIdle() {
	if p.h1 != nil {
		p.h1.CloseIdleConnections()
	}
	p.mu.Lock()
	conns := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, cc := range conns {
		if !isIdle(cc) {
			continue
		}
		// What is reserved before this is seen by the second look, and nothing is after it.
		cc.SetDoNotReuse()
		if isIdle(cc) {
			_ = cc.Close() // nobody is waiting for what it might say
		}
	}
}

func isIdle(cc *http2.ClientConn) bool { //nolint:staticcheck // see http2.go
	s := cc.State()
	return s.StreamsActive+s.StreamsReserved+s.StreamsPending == 0
}
