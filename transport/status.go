package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusError makes the error of a response that is not a success. A body that is a
// failure Status is kept whole: its causes tell "Too large resource version" from
// other timeouts, and its metadata.continue lets a list go on after its token
// expired. Of any other body the first bytes are quoted, since they tell which
// proxy answered.
//
// Retry-After may only raise details.retryAfterSeconds: both come from servers that
// are short of something, and the longer wait obeys both.
func statusError(resp *http.Response, body []byte, x *exchange) *apierrors.StatusError {
	status, ok := x.decodeStatus(body)
	x.isStatus = ok
	if !ok {
		body = x.redact(body)
		status = metav1.Status{
			Status:  metav1.StatusFailure,
			Reason:  reasonOf(resp.StatusCode),
			Message: describe(resp, body),
		}
	}
	if status.Code == 0 {
		status.Code = int32(resp.StatusCode) //nolint:gosec // three digits, net/http sees to it
	}
	if after := retryAfter(resp.Header); after > 0 {
		if status.Details == nil {
			status.Details = &metav1.StatusDetails{}
		}
		status.Details.RetryAfterSeconds = max(status.Details.RetryAfterSeconds, after)
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// decodeStatus reads a Status that reports a failure, whatever the Content-Type
// calls it.
func (x *exchange) decodeStatus(body []byte) (status metav1.Status, ok bool) {
	err := errNotBinary
	if x.status != nil {
		status, err = x.status(body)
	}
	if err != nil {
		status, err = decodeJSONStatus(body)
	}
	return status, err == nil && status.Kind == "Status" && status.Status != metav1.StatusSuccess
}

var errNotBinary = errors.New("no binary encoding was asked for")

// redactStatus takes the credential out of every text of a Status. That comes after
// decoding: before it, a credential may be written with escapes.
func (x *exchange) redactStatus(s *metav1.Status) {
	// What else the metadata of a Status may have says nothing.
	s.ListMeta = metav1.ListMeta{ResourceVersion: s.ResourceVersion, Continue: s.Continue, RemainingItemCount: s.RemainingItemCount}
	texts := []*string{&s.Message, (*string)(&s.Reason), &s.Status, &s.Kind, &s.APIVersion, &s.ResourceVersion, &s.Continue}
	if d := s.Details; d != nil {
		texts = append(texts, &d.Name, &d.Group, &d.Kind, (*string)(&d.UID))
		for i := range d.Causes {
			c := &d.Causes[i]
			texts = append(texts, (*string)(&c.Type), &c.Message, &c.Field)
		}
	}
	for _, text := range texts {
		*text = string(x.redactWhole([]byte(*text)))
	}
}

func decodeJSONStatus(body []byte) (status metav1.Status, err error) {
	err = json.Unmarshal(body, &status, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return status, err
}

// describe is the message for a response that carries no Status.
func describe(resp *http.Response, body []byte) string {
	text := http.StatusText(resp.StatusCode)
	if text == "" {
		text = "unknown status"
	}
	if location := resp.Header.Get("Location"); location != "" && resp.StatusCode/100 == 3 {
		target := "another place"
		if u, err := url.Parse(location); err == nil {
			u.RawQuery, u.Fragment = "", "" // single sign-on puts secrets there
			target = u.Redacted()
		}
		return fmt.Sprintf("%s: the server redirects to %q, and redirects are not followed: set Server to the API server itself", text, target)
	}
	if len(body) == 0 {
		return text + ": empty body"
	}
	return fmt.Sprintf("%s: not a Status but %q: body begins %q", text, resp.Header.Get("Content-Type"), body[:min(len(body), maxHead)])
}

// reasonOf gives the reason that the API server would have given for a status. 410
// is Expired rather than Gone: to a list or a watch it means that the
// resourceVersion or the continue token is too old.
func reasonOf(code int) metav1.StatusReason {
	switch code {
	case http.StatusBadRequest:
		return metav1.StatusReasonBadRequest
	case http.StatusUnauthorized:
		return metav1.StatusReasonUnauthorized
	case http.StatusForbidden:
		return metav1.StatusReasonForbidden
	case http.StatusNotFound:
		return metav1.StatusReasonNotFound
	case http.StatusMethodNotAllowed:
		return metav1.StatusReasonMethodNotAllowed
	case http.StatusNotAcceptable:
		return metav1.StatusReasonNotAcceptable
	case http.StatusConflict:
		return metav1.StatusReasonConflict
	case http.StatusGone:
		return metav1.StatusReasonExpired
	case http.StatusRequestEntityTooLarge:
		return metav1.StatusReasonRequestEntityTooLarge
	case http.StatusUnsupportedMediaType:
		return metav1.StatusReasonUnsupportedMediaType
	case http.StatusUnprocessableEntity:
		return metav1.StatusReasonInvalid
	case http.StatusTooManyRequests:
		return metav1.StatusReasonTooManyRequests
	case http.StatusInternalServerError:
		return metav1.StatusReasonInternalError
	case http.StatusServiceUnavailable:
		return metav1.StatusReasonServiceUnavailable
	case http.StatusGatewayTimeout:
		return metav1.StatusReasonTimeout
	}
	return metav1.StatusReasonUnknown
}

// readErrorBody reads what is to be known of an error's body. What lies beyond the
// bound stays unread, which costs the connection (HTTP/1.1) but no time. A body cut
// short is used as far as it came: the status counts more.
func readErrorBody(body io.Reader, bound int) []byte {
	if bound > 0 {
		body = io.LimitReader(body, int64(bound))
	}
	data, _ := io.ReadAll(body)
	// One more read finds the end of a body that is exactly as long as the bound, so
	// that its connection is used again.
	_, _ = body.Read(make([]byte, 1))
	return data
}
