package transport

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refused makes the error of a response that is not a success, and closes the response.
// If the body is a Status that reports a failure, the error has all of it: its causes tell
// "Too large resource version" from other timeouts, and its metadata.continue lets a list
// go on after its token expired. Of any other body the error quotes the first bytes, since
// they tell which proxy answered.
//
// Retry-After may only raise details.retryAfterSeconds: both come from servers that are
// short of something, and the longer wait obeys both.
func (x *exchange) refused(a *attempt, resp *http.Response) *apierrors.StatusError {
	defer x.hurry().Stop()
	defer resp.Body.Close()
	plain, err := x.decompress(resp.Header, resp.Body)
	if err != nil {
		plain = resp.Body // the status counts more than what cannot be read
	}
	body := readErrorBody(plain, x.client.maxError)
	status, ok := decodeStatus(body, x.request.Status)
	a.emptyBody, a.isStatus = len(body) == 0, ok
	if !ok {
		status = metav1.Status{
			Status:  metav1.StatusFailure,
			Reason:  reasons[resp.StatusCode],
			Message: describe(resp, x.redact(body)),
		}
	}
	status.Code = cmp.Or(status.Code, int32(resp.StatusCode)) // net/http accepts only three digits
	if after := retryAfter(resp.Header); after > 0 {
		status.Details = cmp.Or(status.Details, &metav1.StatusDetails{})
		status.Details.RetryAfterSeconds = max(status.Details.RetryAfterSeconds, after)
	}
	x.redactStatus(&status) // what describes it may quote headers
	return &apierrors.StatusError{ErrStatus: status}
}

// decodeStatus reads a Status that reports a failure, whatever the Content-Type
// calls it. See [Request.Status] for decode, which may be nil.
func decodeStatus(body []byte, decode func([]byte) (metav1.Status, error)) (status metav1.Status, ok bool) {
	err := errNotBinary
	if decode != nil {
		status, err = decode(body)
	}
	if err != nil {
		err = json.Unmarshal(body, &status, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	}
	return status, err == nil && status.Kind == "Status" && status.Status != metav1.StatusSuccess
}

var errNotBinary = errors.New("no binary encoding was asked for")

const (
	// maxStatusText is the most that is kept of a text of a Status: more than an API server
	// says of a list or a watch, and little enough for a log line.
	maxStatusText = 4 << 10

	// maxCauses is the most causes that are kept. A list or a watch is refused for one.
	maxCauses = 100
)

// redactStatus takes the credential out of every text of a Status, and cuts texts that are
// too long. It runs after decoding, because before that a credential may be written with
// escapes.
func (s *secrets) redactStatus(status *metav1.Status) {
	// A client needs nothing else of the metadata of a Status.
	status.ListMeta = metav1.ListMeta{ResourceVersion: status.ResourceVersion, Continue: status.Continue, RemainingItemCount: status.RemainingItemCount}
	status.Continue = string(s.redactWhole([]byte(status.Continue))) // whole, or of no use
	texts := []*string{&status.Message, (*string)(&status.Reason), &status.Status, &status.Kind, &status.APIVersion, &status.ResourceVersion}
	if d := status.Details; d != nil {
		texts = append(texts, &d.Name, &d.Group, &d.Kind, (*string)(&d.UID))
		d.Causes = d.Causes[:min(len(d.Causes), maxCauses)]
		for i := range d.Causes {
			c := &d.Causes[i]
			texts = append(texts, (*string)(&c.Type), &c.Message, &c.Field)
		}
	}
	for _, text := range texts {
		*text = cutText(string(s.redactWhole([]byte(*text))))
	}
}

// cutText cuts what is longer than maxStatusText, between two characters, and says so.
func cutText(text string) string {
	if len(text) <= maxStatusText {
		return text
	}
	return strings.ToValidUTF8(text[:maxStatusText], "") + "…"
}

// describe is the message for a response that carries no Status.
func describe(resp *http.Response, body []byte) string {
	text := cmp.Or(http.StatusText(resp.StatusCode), "unknown status")
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

// reasons are those that the API server would have given for a status. For 410
// that is Expired rather than Gone, because 410 tells a list or a watch that its
// resourceVersion or its continue token is too old.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:            metav1.StatusReasonBadRequest,
	http.StatusUnauthorized:          metav1.StatusReasonUnauthorized,
	http.StatusForbidden:             metav1.StatusReasonForbidden,
	http.StatusNotFound:              metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed:      metav1.StatusReasonMethodNotAllowed,
	http.StatusNotAcceptable:         metav1.StatusReasonNotAcceptable,
	http.StatusConflict:              metav1.StatusReasonConflict,
	http.StatusGone:                  metav1.StatusReasonExpired,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnsupportedMediaType:  metav1.StatusReasonUnsupportedMediaType,
	http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:       metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:    metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:        metav1.StatusReasonTimeout,
}

// readErrorBody reads the body of an error, up to the bound. What lies beyond stays
// unread, which costs the connection (HTTP/1.1) but no time. If the body breaks off,
// what came of it is used, because the status counts more.
func readErrorBody(body io.Reader, bound int) []byte {
	data, _ := io.ReadAll(io.LimitReader(body, int64(bound)))
	// One more read finds the end of a body that is exactly as long as the bound, so
	// that its connection is used again.
	_, _ = body.Read(make([]byte, 1))
	return data
}

// retryAfter reads the Retry-After header (RFC 9110, section 10.2.3), in seconds,
// rounded up. It returns 0 if there is no such header, if it is neither a number nor a
// date, and if the date is past. A date is compared with the response's own Date,
// because both come from the same clock.
func retryAfter(header http.Header) int32 {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return int32(min(max(seconds, 0), math.MaxInt32))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	seconds := math.Ceil(at.Sub(now).Seconds())
	return int32(min(max(seconds, 0), math.MaxInt32))
}
