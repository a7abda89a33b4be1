package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrClosed is the error of [Stream.Next] after [Stream.Close].
var ErrClosed = errors.New("stream is closed")

// RequestError says which request failed. The cause is under it: errors.Is and
// errors.As find it, and so do the functions of apierrors.
type RequestError struct {
	Op  string // "get" or "watch"
	URL string // without the query
	Err error
}

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

// UnexpectedContentError is a success in a format that the API server cannot have
// sent, such as the HTML of a login page. Look for a proxy, or a wrong Server.
type UnexpectedContentError struct {
	StatusCode  int
	ContentType string // as the server sent it
	Head        string // the first bytes of the body, at most 256
}

// Error quotes what came.
func (e *UnexpectedContentError) Error() string {
	return fmt.Sprintf("%d %s with unexpected Content-Type %q: body begins %q (is Server the API server, or a proxy before it?)",
		e.StatusCode, http.StatusText(e.StatusCode), e.ContentType, e.Head)
}

// readHead returns the first bytes of a body for an error message. It asks for no
// more than one read that brings something, since a stream may have no end.
func readHead(body io.Reader, n int) []byte {
	buf := make([]byte, n)
	n, _ = io.ReadAtLeast(body, buf, 1)
	return buf[:n]
}
