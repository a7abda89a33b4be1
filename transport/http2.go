package transport

import (
	"crypto/tls"
	"net/http"

	"golang.org/x/net/http2"
)

// withHTTP2 lets a generation speak HTTP/2, where TLS agrees to it, and HTTP/1.1
// otherwise.
//
// x/net/http2 is deprecated in favour of the copy inside net/http. Up to Go 1.26 it is
// the one that go.mod chooses, whatever toolchain builds the program, so what finds a
// dead connection is what was tested here; from Go 1.27 on it is a wrapper of
// net/http. It is the one whose connections can be pooled here.
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

//nolint:staticcheck // see withHTTP2
func newStreamPool(cfg Config) *streamPool {
	p := &streamPool{h2: &http2.Transport{
		AllowHTTP:          true,
		DisableCompression: true,
		IdleConnTimeout:    orDefault(cfg.IdleConnTimeout, defaultIdleConnTimeout),
	}}
	p.h2.ConnPool = p
	setPings(p.h2, cfg)
	if p.h2.ReadIdleTimeout > 0 { // pings are answered, then
		p.settle = orDefault(cfg.TLSHandshakeTimeout, defaultTLSHandshakeTimeout)
	}
	return p
}

// setPings lets HTTP/2 find a connection whose other end is gone without a word: a
// watch on it would wait for the whole of its timeout otherwise, and so would every
// request that shares the connection.
//
//nolint:staticcheck // see withHTTP2
func setPings(h2 *http2.Transport, cfg Config) {
	idle := orDefault(cfg.ReadIdleTimeout, defaultReadIdleTimeout)
	answer := orDefault(cfg.PingTimeout, defaultPingTimeout)
	if idle == 0 || answer == 0 {
		return // a ping that may stay unanswered for ever tells nothing
	}
	h2.ReadIdleTimeout, h2.PingTimeout = idle, answer
}
