package reflector

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/protocol"
)

// Reason says why a request or a stream ended, and so why the reflector waits
// or lists again.
type Reason protocol.Reason

// The reasons. Several causes share one reason if neither the reflector nor a reader of its
// reports has to tell them apart.
const (
	// Closed: the server ended the stream in good order.
	Closed = Reason(protocol.Closed)
	// Cut: the connection broke under an open stream.
	Cut = Reason(protocol.Cut)
	// TimedOut: the stream was still open 10 s after its timeout, so the connection is
	// taken for dead.
	TimedOut = Reason(protocol.TimedOut)
	// Unreachable: no answer came, or the answer to a list broke off.
	Unreachable = Reason(protocol.Unreachable)
	// Unavailable: 502, 503 or 504, often of a proxy.
	Unavailable = Reason(protocol.Unavailable)
	// Throttled: 429.
	Throttled = Reason(protocol.Throttled)
	// Expired: 410; the server no longer has the resourceVersion asked for.
	Expired = Reason(protocol.Expired)
	// TooLarge: the server does not have the resourceVersion yet.
	TooLarge = Reason(protocol.TooLarge)
	// Denied: 401 or 403; someone has to change something first.
	Denied = Reason(protocol.Denied)
	// NotFound: 404; the type is not there yet, or no longer.
	NotFound = Reason(protocol.NotFound)
	// Failed: any other error status.
	Failed = Reason(protocol.Failed)
	// Malformed: an answer that is not a list or a watch; or a first list that has
	// objects, and none of them can be decoded.
	Malformed = Reason(protocol.Malformed)
	// Empty: two streams in a row ended at once and without an event.
	Empty = Reason(protocol.Empty)
	// Unanchored: a watch without a resourceVersion, which cannot be resumed.
	Unanchored = Reason(protocol.Unanchored)
	// SinkFailed: the sink did not take a change.
	SinkFailed = Reason(protocol.SinkFailed)
	// Asked: Relist was called.
	Asked = Reason(protocol.Asked)
	// Silent: nothing came for so long that the connection is taken for dead.
	Silent = Reason(protocol.Silent)
	// Incomplete: the initial events of a watch did not come to an end.
	Incomplete = Reason(protocol.Incomplete)
	// WentBack: the server's answer is older than what it gave before, or of another
	// history.
	WentBack = Reason(protocol.WentBack)
	// Repair: the reflector could not read a change, and could not ask the server for
	// that object alone.
	Repair = Reason(protocol.Repair)
)

// String returns the reason as one word, for logs and for relist mirror -o json.
func (r Reason) String() string { return protocol.Reason(r).String() }

// failureOf classifies an error of an open stream, or of a list that has begun.
func failureOf(err error) protocol.Failure {
	failure := protocol.Failure{Reason: reasonOf(err), Err: err}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		failure.Code = int(status.Status().Code)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		failure.RetryAfter = time.Duration(seconds) * time.Second
	}
	return failure
}

// requestFailureOf classifies the error of a request that had no answer. An error that
// would count as Cut on an open stream counts as Unreachable here.
func requestFailureOf(err error) protocol.Failure {
	failure := failureOf(err)
	if failure.Reason == protocol.Cut || failure.Reason == protocol.Closed {
		failure.Reason = protocol.Unreachable
	}
	return failure
}

func reasonOf(err error) protocol.Reason {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		return reasonOfStatus(err, status.Status())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return protocol.Cut
	case errors.Is(err, io.EOF):
		return protocol.Closed
	case listwatch.IsMalformed(err):
		return protocol.Malformed
	case errors.Is(err, syscall.ECONNREFUSED):
		return protocol.Unreachable
	}
	return protocol.Cut
}

func reasonOfStatus(err error, status metav1.Status) protocol.Reason {
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), status.Code == http.StatusGone:
		return protocol.Expired
	case isTooLarge(status):
		return protocol.TooLarge
	case apierrors.IsTooManyRequests(err):
		return protocol.Throttled
	}
	switch status.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return protocol.Denied
	case http.StatusNotFound:
		return protocol.NotFound
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return protocol.Unavailable
	}
	return protocol.Failed
}

// tooLargeMessage is the message of servers before 1.19, which send no cause:
// https://github.com/kubernetes/kubernetes/pull/94316.
const tooLargeMessage = "Too large resource version"

// isTooLarge recognises a server that is behind: its watch cache has waited 3 s for the
// version, and the version has not come.
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
