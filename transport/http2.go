package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// withHTTP2 lets a generation speak HTTP/2, where TLS agrees to it, and HTTP/1.1
// otherwise.
func withHTTP2(cfg Config, h1 *http.Transport, g *generation) {
	p := newStreamPool(cfg)
	p.h1 = h1
	if h1.TLSClientConfig.NextProtos == nil {
		h1.TLSClientConfig.NextProtos = []string{"h2", "http/1.1"}
	}
	h1.TLSClientConfig.VerifyConnection = p.agreed
	h1.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{"h2": p.upgrade}
	g.RoundTripper, g.closeIdle = p, p.closeIdle
}

// plainHTTP2 speaks HTTP/2 without TLS to a server known to understand it.
func plainHTTP2(cfg Config, g *generation) {
	p := newStreamPool(cfg)
	p.dial = g.dial
	g.RoundTripper, g.closeIdle = p, p.closeIdle
}

func newStreamPool(cfg Config) *streamPool {
	return &streamPool{
		h2:     newHTTP2(cfg),
		settle: orDefault(cfg.TLSHandshakeTimeout, defaultTLSHandshakeTimeout),
	}
}

// newHTTP2 returns what speaks HTTP/2 on connections that are made elsewhere: its dial
// takes the connection out of the context. TLS has been done by then, so that to
// net/http all of them are plain.
func newHTTP2(cfg Config) *http.Transport {
	h2 := &http.Transport{
		DisableCompression:     true,
		IdleConnTimeout:        orDefault(cfg.IdleConnTimeout, defaultIdleConnTimeout),
		Protocols:              new(http.Protocols),
		MaxResponseHeaderBytes: maxHeaderBytes,
		HTTP2:                  pings(cfg),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(connKey{}).(net.Conn), nil
		},
	}
	h2.Protocols.SetUnencryptedHTTP2(true)
	return h2
}

// connKey is where newHTTP2 finds a connection in a context.
type connKey struct{}

// newClientConn begins HTTP/2 on a connection. It may wait for the other end to take
// what is written.
func newClientConn(ctx context.Context, h2 *http.Transport, conn net.Conn) (*http.ClientConn, error) {
	return h2.NewClientConn(context.WithValue(ctx, connKey{}, conn), "http", "made.elsewhere:80")
}

// pings lets HTTP/2 find a connection whose other end is gone without a word: a watch
// on it would wait for the whole of its timeout otherwise, and so would every request
// that shares the connection.
func pings(cfg Config) *http.HTTP2Config {
	idle := orDefault(cfg.ReadIdleTimeout, defaultReadIdleTimeout)
	answer := orDefault(cfg.PingTimeout, defaultPingTimeout)
	if idle == 0 || answer == 0 {
		return &http.HTTP2Config{} // a ping that may stay unanswered for ever tells nothing
	}
	return &http.HTTP2Config{SendPingTimeout: idle, PingTimeout: answer}
}

var errWithoutHTTP2 = errors.New("ProtocolHTTP2 is asked for, and this program has no HTTP/2: it was built with the tag nethttpomithttp2, or GODEBUG has http2client=0")

// hasHTTP2 reports whether net/http has HTTP/2 in this program.
var hasHTTP2 = sync.OnceValue(func() bool {
	conn, other := net.Pipe()
	_ = other.Close()
	_, err := newClientConn(context.Background(), newHTTP2(Config{}), conn)
	return errors.Is(err, io.ErrClosedPipe) // HTTP/2 has tried to say something
})
