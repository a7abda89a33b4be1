package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"

	"golang.org/x/net/http2"
)

// openPlain makes a connection without TLS, to a server that is known to speak HTTP/2.
func (p *streamPool) openPlain(r *http.Request) error {
	conn, err := p.dial(r.Context(), "tcp", hostPort(r.URL, "80"))
	if err != nil {
		return err
	}
	if err := p.add(r.Context(), conn); err != nil {
		return err
	}
	return errNoRoom
}

// upgrade takes a connection over on which the server has agreed to HTTP/2. What net/http
// makes it for is to ask the pool again: it must not do that itself, since it would try
// for ever with a server that hangs up.
func (p *streamPool) upgrade(_ string, conn *tls.Conn) http.RoundTripper {
	// The connection is for all, whoever goes away.
	if err := p.add(context.Background(), conn); err != nil {
		return handedOver{err}
	}
	return handedOver{errNoRoom}
}

// handedOver is how net/http is told that it has no connection of its own.
type handedOver struct{ err error }

func (h handedOver) RoundTrip(*http.Request) (*http.Response, error) { return nil, h.err }

// RoundTripErr is looked for by net/http.
func (h handedOver) RoundTripErr() error { return h.err }

// add lets requests use a connection, once it is known how many may at once. One that is
// of no use, or whose ctx ends before that, is closed.
func (p *streamPool) add(ctx context.Context, conn net.Conn) error {
	p.mu.Lock()
	p.adding++ // MarkDead may be called before the connection has a name here
	p.mu.Unlock()
	cc, err := p.h2.NewClientConn(conn) //nolint:staticcheck // see http2.go
	if err == nil {
		err = p.await(ctx, cc)
	}
	p.mu.Lock()
	p.adding--
	if err == nil && slices.Contains(p.dead, cc) {
		err = errNoUse
	}
	if p.adding == 0 {
		p.dead = nil
	}
	if err != nil {
		p.mu.Unlock()
		_ = conn.Close() // what counts is why
		return err
	}
	p.conns, p.old = append(p.conns, cc), false
	p.added++
	m := p.making
	p.mu.Unlock()
	p.made(m, nil)
	return nil
}

// await waits for the SETTINGS of a connection. They come first (RFC 9113, section 3.4),
// so the answer to a ping comes after them. A server that does not answer one is used all
// the same.
func (p *streamPool) await(ctx context.Context, cc *http2.ClientConn) error { //nolint:staticcheck // see http2.go
	if p.settle == 0 {
		return nil
	}
	patience, cancel := context.WithTimeout(ctx, p.settle)
	defer cancel()
	err := cc.Ping(patience)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && patience.Err() == nil:
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			// Whether the ping meets the end of what is read, or a connection that was
			// closed for that, is chance.
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("the connection has failed before its first request: %w", err)
	case !cc.CanTakeNewRequest():
		return errNoUse
	}
	return nil
}
