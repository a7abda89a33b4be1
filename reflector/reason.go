package reflector

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/protocol"
)

// Reason says why a request or a stream ended, and so why the reflector waits or lists again.
type Reason = protocol.Reason

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
// would count as ConnectionLost on an open stream counts as Unreachable here.
func requestFailureOf(err error) protocol.Failure {
	failure := failureOf(err)
	if failure.Reason == protocol.ConnectionLost || failure.Reason == protocol.Closed {
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
		return protocol.ConnectionLost
	case errors.Is(err, io.EOF):
		return protocol.Closed
	case source.IsMalformed(err):
		return protocol.Malformed
	case errors.Is(err, syscall.ECONNREFUSED):
		return protocol.Unreachable
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
	case http.StatusUnauthorized, http.StatusForbidden:
		return protocol.Denied
	case http.StatusNotFound:
		return protocol.NotFound
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return protocol.Unavailable
	}
	return protocol.Failed
}
