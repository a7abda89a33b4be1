package transport

import (
	"crypto/tls"
	"net/http"
	"net/url"
)

// generation is a set of connections that were made with one identity. When that is
// replaced, requests go to a new generation; the old one ends with its last exchange,
// so that a watch is not cut off because its certificate has a successor.
type generation struct {
	http.RoundTripper
	identity  identity
	closeIdle func()
	conns     *conns

	// What the connections are made with; nil where the user's RoundTripper makes
	// them, and tls also where they are plain.
	dial  dialFunc
	proxy func(*http.Request) (*url.URL, error)
	tls   *tls.Config
}

// retire lets the generation go. Nothing new begins on it.
func (g *generation) retire() {
	g.closeIdle()
	g.conns.retire()
}

// close closes what is unused now, and the rest when it is.
func (g *generation) close() {
	g.closeIdle()
	g.conns.close()
}
