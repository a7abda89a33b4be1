package reflector

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
)

// Reason says why a request or a stream ended, and so why the reflector waits
// or lists again.
type Reason uint8

// The reasons: one for each way in which the reflector reacts, or in which somebody has to.
const (
	// Closed: the server ended the stream in good order.
	Closed Reason = iota + 1
	// Cut: the connection broke under an open stream.
	Cut
	// TimedOut: the server kept the stream open past the time it was given, so
	// that it is taken for dead.
	TimedOut
	// Unreachable: no answer came at all.
	Unreachable
	// Unavailable: 502, 503 or 504, often of a proxy.
	Unavailable
	// Throttled: 429.
	Throttled
	// Expired: 410; the server no longer has the resourceVersion asked for.
	Expired
	// TooLarge: the server does not have the resourceVersion yet.
	TooLarge
	// Denied: 401 or 403; someone has to change something first.
	Denied
	// Failed: any other error status.
	Failed
	// Malformed: an answer that is not a list or a watch.
	Malformed
	// Empty: a stream that ended at once and without an event, again.
	Empty
	// Unanchored: a watch without a resourceVersion, which cannot be resumed.
	Unanchored
	// SinkFailed: the sink did not take a change.
	SinkFailed
	// Asked: Relist was called.
	Asked
	// Silent: nothing came any more from a server that had sent bookmarks.
	Silent
	// Incomplete: the initial events of a watch did not come to an end.
	Incomplete
	// WentBack: the server's answer is older than what it gave before, or of another
	// history.
	WentBack
	// NotFound: 404; the type is not there yet, or no longer.
	NotFound
)

var reasonWords = [...]string{
	Closed: "closed", Cut: "cut", TimedOut: "timedOut", Unreachable: "unreachable", Unavailable: "unavailable",
	Throttled: "throttled", Expired: "expired", TooLarge: "tooLarge", Denied: "denied", Failed: "failed",
	Malformed: "malformed", Empty: "empty", Unanchored: "unanchored", SinkFailed: "sinkFailed", Asked: "asked", Silent: "silent", Incomplete: "incomplete", WentBack: "wentBack",
	NotFound: "notFound",
}

// String returns the reason as one word, for logs and for -o json.
func (r Reason) String() string {
	if int(r) >= len(reasonWords) || reasonWords[r] == "" {
		return "unknown"
	}
	return reasonWords[r]
}

// errTimedOut is what a stream ends with when the client's own timer fires.
var errTimedOut = errors.New("the server did not end the watch at its timeout")

// errSilent is what a stream ends with when bookmarks were due and nothing came, and
// errIncomplete when that happened before the initial events were complete.
var (
	errSilent     = errors.New("nothing came, not even the bookmarks that the server had sent before")
	errIncomplete = errors.New("the initial events stopped before their end")
)

// errAsked is what a stream ends with when Relist was called.
var errAsked = errors.New("a list was asked for")

// classify maps an error from a list or a watch to the way it is reacted to.
func classify(err error) Reason {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return classifyStatus(err, status.Status())
	}
	switch {
	case errors.Is(err, errTimedOut):
		return TimedOut
	case errors.Is(err, errSilent):
		return Silent
	case errors.Is(err, errIncomplete):
		return Incomplete
	case errors.Is(err, errAsked):
		return Asked
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Cut
	case errors.Is(err, io.EOF):
		return Closed
	case listwatch.IsMalformed(err):
		return Malformed
	case errors.Is(err, syscall.ECONNREFUSED):
		return Unreachable
	}
	return Cut
}

func classifyStatus(err error, status metav1.Status) Reason {
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), status.Code == http.StatusGone:
		return Expired
	case isTooLarge(status):
		return TooLarge
	case apierrors.IsTooManyRequests(err):
		return Throttled
	}
	switch status.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied
	case http.StatusNotFound:
		return NotFound
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Unavailable
	}
	return Failed
}

// tooLargeMessage is all that servers before 1.19 said:
// https://github.com/kubernetes/kubernetes/pull/94316.
const tooLargeMessage = "Too large resource version"

// isTooLarge recognises a server that is behind: its watch cache has waited 3 s
// for the version and not seen it.
// Source: https://github.com/kubernetes/kubernetes/pull/92537
func isTooLarge(status metav1.Status) bool {
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Type == metav1.CauseTypeResourceVersionTooLarge || cause.Message == tooLargeMessage {
				return true
			}
		}
	}
	timeout := status.Reason == metav1.StatusReasonTimeout || status.Code == http.StatusGatewayTimeout
	return timeout && strings.Contains(status.Message, tooLargeMessage)
}

// findsFault reports whether the server finds fault with the request, rather than
// with itself.
func findsFault(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}
