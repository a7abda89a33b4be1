package mirror

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// hopelessError is why Run gave up.
type hopelessError struct{ err error }

func (e *hopelessError) Error() string { return e.err.Error() }

func (e *hopelessError) Unwrap() error { return e.err }

// isHopeless reports whether a first list was refused for what was asked, and by whom:
// any 4xx but those that pass with time.
func isHopeless(err error) bool {
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
