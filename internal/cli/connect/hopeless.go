package connect

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Hopeless reports whether a first request was refused for what was asked, and by whom:
// any 4xx but those that pass with time.
func Hopeless(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}
