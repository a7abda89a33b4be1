package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errClosed is the error of [Stream.Next] after [Stream.Close].
var errClosed = errors.New("stream is closed")

// errNoFormat is for a program to fix.
var errNoFormat = errors.New("no format is named that the watch may come in: set Request.Frames")

// RequestError says which request failed. The cause is under it: errors.Is and
// errors.As find it, and so do the functions of apierrors.
type RequestError struct {
	Op  string // "watch", or the method in lower case: "get", "patch"
	URL string // without the query
	Err error

	stage stage
}

// stage is how far a request had come when it failed.
type stage uint8

const (
	stageBegun      stage = iota // nothing was sent
	stageCredential              // a credential was looked for
	stageConnection              // a connection was made, or waited for
	stageSent                    // there was a connection
	stageAnswered                // the head of an answer has come
)

// Error gives the request and the cause; for a Status, its code and reason too.
func (e *RequestError) Error() string {
	prefix := e.Op + " " + e.URL + ": "
	// Not errors.As: only a Status that is the cause itself lacks its code.
	if status, ok := e.Err.(*apierrors.StatusError); ok { //nolint:errorlint // a wrapped one has a text of its own
		if code := status.ErrStatus.Code; code != 0 {
			prefix += fmt.Sprint(code, " ")
		}
		if reason := status.ErrStatus.Reason; reason != "" {
			return prefix + string(reason) + ": " + e.Err.Error()
		}
	}
	return prefix + e.Err.Error()
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// Unreachable reports whether no connection to the server could be made. If a connection was made,
// and broke before anything of the answer came, it returns false. See source.IsUnreachable in
// package listwatch.
func (e *RequestError) Unreachable() bool { return e.stage == stageConnection && !e.Denied() }

// Denied reports whether no credential could be had, because the program of [Config.Exec] has
// failed, or whether the proxy lets nobody through with this credential. The error of a server's
// 401 or 403 is a Status instead. See source.IsDenied in package listwatch.
func (e *RequestError) Denied() bool {
	var proxy *ProxyError
	return e.stage == stageCredential || errors.As(e.Err, &proxy) && proxy.denies()
}

// ProxyError says that an HTTP proxy has not made the connection that it was asked for.
type ProxyError struct {
	Proxy  string // its URL, without credentials
	Target string // host and port of the server

	StatusCode int    // of the answer to CONNECT
	Status     string // the code and the text of the proxy, at most 100 bytes, without credentials
}

// Error says what to do if the credential is wrong.
func (e *ProxyError) Error() string {
	text := fmt.Sprintf("the proxy %s does not connect to %s: %s", e.Proxy, e.Target, e.Status)
	if e.StatusCode == http.StatusProxyAuthRequired {
		text += " (set a name and a password in the URL of the proxy, or other ones)"
	}
	return text
}

// denies reports whether the proxy wants another credential, or does not let this one through.
func (e *ProxyError) denies() bool {
	return e.StatusCode == http.StatusProxyAuthRequired || e.StatusCode == http.StatusForbidden || e.StatusCode == http.StatusUnauthorized
}

// malformed marks the error of an answer that an API server cannot have sent.
type malformed struct{ error }

// Malformed returns true, see source.IsMalformed in package listwatch.
func (malformed) Malformed() bool { return true }
func (e malformed) Unwrap() error { return e.error }

// UnexpectedContentError is a success in a format that the API server cannot have
// sent, such as the HTML of a login page. Look for a proxy, or a wrong Server.
type UnexpectedContentError struct {
	StatusCode  int
	ContentType string // as the server sent it
	Head        string // the first bytes of the body, at most 256

	// Expected are the media types that the answer may have. For a watch these are the
	// StreamMediaType of each of Request.Frames, for other requests those of Accept. It is
	// empty if the status is what was not expected.
	Expected []string
}

// Malformed returns true: what came is no answer of an API server. See source.IsMalformed in
// package listwatch.
func (*UnexpectedContentError) Malformed() bool { return true }

// Error quotes what came.
func (e *UnexpectedContentError) Error() string {
	instead := ""
	for i, mediaType := range e.Expected {
		instead += []string{" instead of ", " or "}[min(i, 1)] + strconv.Quote(mediaType)
	}
	return fmt.Sprintf("%d %s with unexpected Content-Type %q%s: body begins %q (is Server the API server, or a proxy before it?)",
		e.StatusCode, http.StatusText(e.StatusCode), e.ContentType, instead, e.Head)
}

// readHead returns the first bytes of a body for an error message. It stops at the
// first read that brings something, since a stream may have no end.
func readHead(body io.Reader, n int) []byte {
	buf := make([]byte, n)
	n, _ = io.ReadAtLeast(body, buf, 1)
	return buf[:n]
}

// problems tells the user of problems that make no request fail. A problem that stays
// the same is told once.
type problems struct {
	tell func(error) // nil: nobody asked

	mu   sync.Mutex
	last map[string]string // by subject, the text that was told
}

// report says what is wrong with a subject now; nil is nothing. It calls the user's
// function on this goroutine, and under no lock.
func (p *problems) report(subject string, err error) {
	if p.tell == nil {
		return
	}
	p.mu.Lock()
	known := p.last[subject]
	text := ""
	if err != nil {
		text = err.Error()
	}
	if p.last == nil {
		p.last = make(map[string]string)
	}
	p.last[subject] = text
	p.mu.Unlock()
	if err != nil && text != known {
		p.tell(err)
	}
}
