package listwatch

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/transport"
)

// statusError turns the object of an ERROR event into the error it stands for.
func statusError(encoding Encoding, frame transport.Frame, object []byte) error {
	object = frame.Redact(object)
	status, ok := encoding.Status(object)
	if !ok || !isFailure(status) {
		return apierrors.NewInternalError(fmt.Errorf("the server sent an ERROR event without a Status: %.200q", object))
	}
	if status.Code == 0 && (status.Reason == metav1.StatusReasonExpired || status.Reason == metav1.StatusReasonGone) {
		status.Code = http.StatusGone
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// isFailure reports whether a Status tells of one. What counts is in its fields:
// gateways that make up their own errors forget its kind, and taking a 410 for
// something else is to open a watch again where it can never succeed.
func isFailure(status metav1.Status) bool {
	switch {
	case status.Kind == "Status", status.Status == metav1.StatusFailure, status.Code >= http.StatusBadRequest:
		return true
	}
	return status.Kind == "" && status.Reason != ""
}

// codeAndReason are the words that begin an error's text: "410 Expired".
func codeAndReason(status metav1.Status) string {
	var words []string
	if status.Code != 0 {
		words = append(words, fmt.Sprint(status.Code))
	}
	if status.Reason != "" {
		words = append(words, string(status.Reason))
	}
	return strings.Join(words, " ")
}
