package transport

import (
	"io"
	"net/http"
	"sync/atomic"
)

// isSafe reports whether a request of this method changes nothing on the server, so that it
// does no harm to send it twice (RFC 9110, section 9.2.1). "" is GET.
func isSafe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return false
}

// sendAgain returns the request to send after r, which was sent or was closed unsent. It
// reports false if the body of r cannot be read a second time.
func sendAgain(r *http.Request) (*http.Request, bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, true
	}
	if given, ok := r.Body.(*givenBody); ok && !given.begun.Load() {
		return r, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, false
	}
	again := r.WithContext(r.Context())
	again.Body = body
	return again, true
}

// givenBody is the body that the caller of a RoundTripper has given. net/http closes the body
// of each attempt, also if it has read nothing of it: to make a connection, for example. So
// Close does nothing, and the end of the exchange closes the caller's body.
type givenBody struct {
	io.Reader

	begun atomic.Bool // something was read, or may yet be
}

func (g *givenBody) Read(p []byte) (int, error) {
	g.begun.Store(true)
	return g.Reader.Read(p)
}

// Close does nothing.
func (*givenBody) Close() error { return nil }
