package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
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
	adding int                 // connections that are to come into conns
	dead   []*http2.ClientConn // of which these have died on the way
	old    bool                // the last connection that was made speaks HTTP/1.1
}

// making is a connection that is being made, for all who wait for one.
type making struct {
	done chan struct{}
	err  error // why there is none; read-only once done
}

// maxSends is over how many connections a request goes, of which each is given up by its
// server (GOAWAY) before the answer. One is what a server does that restarts, and the
// request is safe to send again; more of them come from one that takes none, and the pace
// at which to try that again is the caller's.
const maxSends = 3

var (
	// errNoRoom is what GetClientConn returns where there is none.
	errNoRoom = errors.New("no connection has room for another stream")

	errGivenUp = fmt.Errorf("the server has given up %d connections in a row (GOAWAY), each before it answered the request", maxSends)
	errNoUse   = errors.New("the server takes no request on a new connection: it is going away (GOAWAY), or allows no streams")
)

// sendsKey is where the context of a request has the number of connections that it was
// given, an *int.
type sendsKey struct{}

// RoundTrip sends a request over a connection that has room, or waits for one.
func (p *streamPool) RoundTrip(r *http.Request) (*http.Response, error) {
	sends := new(int)
	ctx := context.WithValue(r.Context(), sendsKey{}, sends)
	r = r.WithContext(ctx)
	for {
		p.mu.Lock()
		old, added := p.old, p.added
		p.mu.Unlock()
		if old {
			return p.h1.RoundTrip(r)
		}
		resp, err := p.h2.RoundTrip(r) //nolint:staticcheck // see http2.go
		if !errors.Is(err, errNoRoom) {
			return resp, err
		}
		if *sends >= maxSends {
			return nil, errGivenUp
		}
		m, mine := p.make(added)
		if m == nil {
			continue // there is one since
		}
		if mine {
			if resp, err = p.open(r, m); !errors.Is(err, errNoRoom) {
				return resp, err
			}
			continue
		}
		select {
		case <-m.done:
			if m.err != nil {
				return nil, m.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
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

// open makes a connection. With one of HTTP/2 it returns errNoRoom: there is room now, for
// whoever comes first. With one of HTTP/1.1 it has sent the request.
func (p *streamPool) open(r *http.Request, m *making) (*http.Response, error) {
	var resp *http.Response
	var err error
	if p.h1 != nil {
		resp, err = p.h1.RoundTrip(r) // calls agreed, and upgrade
		if resp != nil {              // over a connection that there was, perhaps
			p.mu.Lock()
			p.old = true
			p.mu.Unlock()
		}
	} else {
		err = p.openPlain(r)
	}
	failed := err
	if errors.Is(err, errNoRoom) || r.Context().Err() != nil {
		failed = nil // the others go on: it says nothing of the server
	}
	p.made(m, failed)
	return resp, err
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

// agreed is told what a connection that is being made will speak. If that is HTTP/1.1,
// each request needs its own.
func (p *streamPool) agreed(conn tls.ConnectionState) error {
	if conn.NegotiatedProtocol == http2.NextProtoTLS {
		return nil // upgrade comes next
	}
	p.mu.Lock()
	p.old = true
	m := p.making
	p.mu.Unlock()
	p.made(m, nil)
	return nil
}

// GetClientConn implements http2.ClientConnPool.
func (p *streamPool) GetClientConn(r *http.Request, _ string) (*http2.ClientConn, error) { //nolint:staticcheck // see http2.go
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cc := range p.conns {
		if cc.ReserveNewRequest() {
			if sends, ok := r.Context().Value(sendsKey{}).(*int); ok {
				*sends++
			}
			return cc, nil
		}
	}
	return nil, errNoRoom
}

// MarkDead implements http2.ClientConnPool.
func (p *streamPool) MarkDead(dead *http2.ClientConn) { //nolint:staticcheck // see http2.go
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.conns, dead); i >= 0 {
		p.conns = slices.Delete(p.conns, i, i+1)
	} else if p.adding > 0 {
		p.dead = append(p.dead, dead)
	}
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
