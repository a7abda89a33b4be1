package listwatch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/listwatch/source"
	"github.com/relist-go/relist/transport"
)

var errMalformed = format.ErrMalformed

// malformed is an error that says that an answer did not come from a working API server, see
// [source.IsMalformed].
type malformed struct{ error }

func (malformed) Malformed() bool { return true }
func (e malformed) Unwrap() error { return e.error }

// isMalformed reports whether err says that an answer did not come from a working API server: it
// was, for example, a proxy's HTML, invalid JSON, or a frame that is not an event; or it is not the
// answer to the request, as with [ErrShardIgnored]. A connection that was cut in the middle of an
// answer is not malformed.
func isMalformed(err error) bool {
	var (
		syntactic *jsontext.SyntacticError
		semantic  *json.SemanticError
	)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return false
	case errors.Is(err, errMalformed), errors.Is(err, format.ErrObjectTooLarge), errors.Is(err, ErrShardIgnored):
		return true
	}
	return source.IsMalformed(err) || errors.As(err, &syntactic) || errors.As(err, &semantic)
}

// describe adds to err what was being done. The text of a Status from inside a stream
// is only its message, so describe adds the code and the reason, as transport does
// for the others: "watch configmaps: 410 Expired: too old resource version: 160
// (400)". It marks what is malformed.
func describe(verb, what string, err error) error {
	if isMalformed(err) {
		err = malformed{err}
	}
	if status, ok := err.(*apierrors.StatusError); ok { //nolint:errorlint // a wrapped one has a text of its own
		if word := codeAndReason(status.ErrStatus); word != "" {
			return fmt.Errorf("%s %s: %s: %w", verb, what, word, err)
		}
	}
	return fmt.Errorf("%s %s: %w", verb, what, err)
}

// statusError returns the error that the object of an ERROR event describes.
func statusError(encoding Encoding, frame transport.Frame, object []byte) error {
	object = frame.Redact(object)
	status, ok := encoding.Status(object)
	if !ok || !isFailure(status) {
		return apierrors.NewInternalError(fmt.Errorf("the server sent an ERROR event without a Status: %.200q", object))
	}
	frame.RedactStatus(&status)
	if status.Code == 0 && (status.Reason == metav1.StatusReasonExpired || status.Reason == metav1.StatusReasonGone) {
		status.Code = http.StatusGone
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// isFailure reports whether a Status describes a failure. It looks at several fields,
// because gateways that write their own errors forget the kind. A 410 that is not
// recognized would make the client open the same watch again, which can never
// succeed.
func isFailure(status metav1.Status) bool {
	switch {
	case status.Kind == "Status", status.Status == metav1.StatusFailure, status.Code >= http.StatusBadRequest:
		return true
	}
	return status.Kind == "" && status.Reason != ""
}

// codeAndReason returns the words that an error's text begins with, such as "410
// Expired".
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
