package listwatch

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusError turns the object of an ERROR event into the error it stands for.
func statusError(object []byte) error {
	status, ok := decodeStatus(object)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("the server sent an ERROR event without a Status: %.200q", object))
	}
	if status.Code == 0 && (status.Reason == metav1.StatusReasonExpired || status.Reason == metav1.StatusReasonGone) {
		status.Code = http.StatusGone
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// decodeStatus reads a Status that reports a failure. What counts is in its fields:
// gateways that make up their own errors forget its kind, and taking a 410 for
// something else is to open a watch again where it can never succeed.
func decodeStatus(object []byte) (status metav1.Status, ok bool) {
	if json.Unmarshal(object, &status, lenient) != nil {
		// One field of the wrong shape does not make the others untrue.
		var core struct {
			Kind    string              `json:"kind"`
			Status  string              `json:"status"`
			Message string              `json:"message"`
			Reason  metav1.StatusReason `json:"reason"`
			Code    int32               `json:"code"`
		}
		if json.Unmarshal(object, &core, lenient) != nil {
			return metav1.Status{}, false
		}
		status = metav1.Status{Status: core.Status, Message: core.Message, Reason: core.Reason, Code: core.Code}
		status.Kind = core.Kind
	}
	switch {
	case status.Kind == "Status", status.Status == metav1.StatusFailure, status.Code >= http.StatusBadRequest:
		return status, true
	}
	return status, status.Kind == "" && status.Reason != ""
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
