package reflector

import (
	"errors"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/protocol"
)

// Reason says why a request or a stream ended, and so why the reflector waits or lists again.
type Reason = protocol.Reason

// failureOf classifies an error of an open stream.
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

// requestFailureOf classifies the error of a list, or of a watch that was not opened. Here an end
// is no clean one.
func requestFailureOf(err error) protocol.Failure {
	failure := failureOf(err)
	if failure.Reason == protocol.Closed {
		failure.Reason = protocol.ConnectionLost
	}
	return failure
}

func reasonOf(err error) protocol.Reason {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		return reasonOfStatus(err, status.Status())
	case source.IsUnreachable(err):
		return protocol.Unreachable
	case source.IsDenied(err):
		return protocol.Denied
	case errors.Is(err, io.ErrUnexpectedEOF):
		return protocol.ConnectionLost
	case errors.Is(err, io.EOF):
		return protocol.Closed
	case source.IsMalformed(err):
		return protocol.Malformed
	}
	return protocol.ConnectionLost
}

func reasonOfStatus(err error, status metav1.Status) protocol.Reason {
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), status.Code == http.StatusGone:
		return protocol.Expired
	case source.IsTooLarge(err):
		return protocol.TooLarge
	case apierrors.IsTooManyRequests(err):
		return protocol.Throttled
	}
	switch status.Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return protocol.Denied
	case http.StatusNotFound:
		return protocol.NotFound
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return protocol.Unavailable
	}
	return protocol.Failed
}
