package transport

import (
	"errors"
	"io"
	"net/http"
	"sync"
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
	if lent, ok := r.Body.(*lentBody); ok {
		body = lent.given.lendAgain()
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

// givenBody is the body that the caller of a RoundTripper has given. If an attempt fails
// before it has read any of the body, it closes only its [lentBody], so that the next attempt
// has the whole body.
type givenBody struct {
	body io.ReadCloser

	mu       sync.Mutex
	borrower *lentBody // of the latest attempt
	begun    bool      // something was read
	closed   bool      // the borrower has closed it
	final    bool      // there is no further attempt
}

// lentBody is a givenBody for one attempt. net/http may close the body of a failed attempt
// when the next attempt is already reading.
type lentBody struct{ given *givenBody }

var errNotMine = errors.New("the body of the request is read by a later attempt")

// lend returns the body for the first attempt.
func (g *givenBody) lend() io.ReadCloser {
	g.borrower = &lentBody{g}
	return g.borrower
}

// lendAgain returns the body for another attempt, nil if some of it has been read.
func (g *givenBody) lendAgain() io.ReadCloser {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.begun {
		return nil
	}
	g.borrower, g.closed = &lentBody{g}, false
	return g.borrower
}

// release says that there is no further attempt. If abandoned, the latest attempt has
// failed, too.
func (g *givenBody) release(abandoned bool) {
	g.mu.Lock()
	g.final = true
	unclosed := abandoned || g.closed && !g.begun
	g.mu.Unlock()
	if unclosed {
		_ = g.body.Close() // perhaps a second time
	}
}

func (b *lentBody) Read(p []byte) (int, error) {
	g := b.given
	g.mu.Lock()
	mine := g.borrower == b
	g.begun = g.begun || mine
	g.mu.Unlock()
	if !mine {
		return 0, errNotMine
	}
	return g.body.Read(p)
}

func (b *lentBody) Close() error {
	g := b.given
	g.mu.Lock()
	mine := g.borrower == b
	g.closed = g.closed || mine
	now := mine && (g.begun || g.final)
	g.mu.Unlock()
	if !now {
		return nil
	}
	return g.body.Close()
}
