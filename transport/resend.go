package transport

import (
	"errors"
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
	var body io.ReadCloser
	if given, ok := r.Body.(*givenBody); ok {
		if fresh := given.again(); fresh != nil {
			body = fresh
		}
	}
	if body == nil && r.GetBody != nil {
		if again, err := r.GetBody(); err == nil {
			body = again
		}
	}
	if body == nil {
		return nil, false
	}
	again := r.WithContext(r.Context())
	again.Body = body
	return again, true
}

// givenBody is the body that the caller of a RoundTripper has given, for one attempt. net/http
// closes the body of an attempt that has read nothing of it, too: one that made a connection,
// for example. It may do so when the next attempt is reading already. So an attempt closes the
// caller's body only if it has read some of it; the end of the exchange closes it in any case.
type givenBody struct {
	body  io.ReadCloser
	state atomic.Int32 // fresh; then begun, or closed and left
}

const (
	fresh  int32 = iota // nothing was read
	begun               // some was read
	closed              // by the attempt, which must not wait in a Read after that
	left                // to another attempt
)

var errLeft = errors.New("the body of the request is closed, or read by a later attempt")

// again returns the body for another attempt, nil if some of it has been read.
func (g *givenBody) again() *givenBody {
	if !g.state.CompareAndSwap(fresh, left) && !g.state.CompareAndSwap(closed, left) {
		return nil
	}
	return &givenBody{body: g.body}
}

func (g *givenBody) Read(p []byte) (int, error) {
	if !g.state.CompareAndSwap(fresh, begun) && g.state.Load() != begun {
		return 0, errLeft
	}
	return g.body.Read(p)
}

func (g *givenBody) Close() error {
	if g.state.CompareAndSwap(fresh, closed) || g.state.Load() != begun {
		return nil
	}
	return g.body.Close()
}
