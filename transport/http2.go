package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"

	"golang.org/x/net/http2"
)

// withHTTP2 lets a transport speak HTTP/2 too, where TLS agrees to it.
//
// x/net/http2 is deprecated in favour of the copy inside net/http. Up to Go 1.26 it is
// the one that go.mod chooses, whatever toolchain builds the program, so what finds a
// dead connection is what was tested here; from Go 1.27 on it is a wrapper of
// net/http. To do without it, set http.Transport.Protocols and HTTP2 in this file.
//
//nolint:staticcheck // for the reasons above
func withHTTP2(cfg Config, h1 *http.Transport, g *generation) error {
	offered := slices.Clone(h1.TLSClientConfig.NextProtos)
	h2, err := http2.ConfigureTransports(h1)
	if err != nil {
		return fmt.Errorf("configure HTTP/2: %w", err)
	}
	if offered != nil {
		h1.TLSClientConfig.NextProtos = offered // ConfigureTransports adds http/1.1
	}
	setPings(h2, cfg)
	g.RoundTripper = h1
	g.closeIdle = func() {
		h1.CloseIdleConnections()
		h2.CloseIdleConnections()
	}
	return nil
}

// plainHTTP2 speaks HTTP/2 without TLS to a server known to understand it.
//
//nolint:staticcheck // see withHTTP2
func plainHTTP2(cfg Config, g *generation) {
	h2 := &http2.Transport{
		AllowHTTP:          true,
		DisableCompression: true,
		IdleConnTimeout:    orDefault(cfg.IdleConnTimeout, defaultIdleConnTimeout),
		DialTLSContext: func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
			return g.dial(ctx, network, addr)
		},
	}
	setPings(h2, cfg)
	g.RoundTripper, g.closeIdle = h2, h2.CloseIdleConnections
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
