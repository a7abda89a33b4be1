package transport

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusOf returns the Status under an error.
func statusOf(t *testing.T, err error) metav1.Status {
	t.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("error %v (%T) is no StatusError", err, err)
	}
	return status.Status()
}

func TestStatusFromCaptures(t *testing.T) {
	tests := []struct {
		file    string
		is      func(error) bool
		code    int32
		wantErr string
	}{
		{"list-continue-expired", apierrors.IsResourceExpired, 410, "410 Expired: The provided continue parameter is too old"},
		{"list-bad-continue", apierrors.IsBadRequest, 400, "400 BadRequest: invalid continue token"},
		{"list-not-found", apierrors.IsNotFound, 404, `404 NotFound: Not Found: not a Status but "text/plain; charset=utf-8": body begins "404 page not found\n"`},
		{"list-rv-too-large", apierrors.IsTimeout, 504, "504 Timeout: Timeout: Too large resource version"},
		{"list-exact-compacted", apierrors.IsResourceExpired, 410, "410 Expired: "},
		{"list-invalid-rv", apierrors.IsBadRequest, 400, "400 BadRequest: invalid resource version: "},
		{"watch-invalid-rv", apierrors.IsInternalError, 500, "500 resourceVersion: Invalid value"},
		{"watch-initial-events-invalid", apierrors.IsInvalid, 422, "422 Invalid: "},
		{"watch-unauthorized", apierrors.IsUnauthorized, 401, "401 Unauthorized: Unauthorized"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			raw := capturedResponse(t, "../testdata/captures/"+tt.file+".http").raw
			_, err := newTestClient(t, answer(raw)).Get(t.Context(), Request{Path: "/x"})
			checkError(t, err, "get http://api.example/x: "+tt.wantErr)
			if status := statusOf(t, err); !tt.is(err) || status.Code != tt.code {
				t.Errorf("status %+v", status)
			}
			switch tt.file {
			case "list-continue-expired":
				if statusOf(t, err).Continue == "" {
					t.Error("metadata.continue is lost: the list cannot go on")
				}
			case "list-rv-too-large":
				if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
					t.Error("the cause is lost")
				}
				if after, ok := apierrors.SuggestsClientDelay(err); !ok || after != 1 {
					t.Errorf("retry after %d s, want 1", after)
				}
			}
		})
	}
}

func TestStatusFromAnythingElse(t *testing.T) {
	const date = "Fri, 20 Nov 2026 11:00:00 GMT"
	status := func(s string) string { return `{"kind":"Status","apiVersion":"v1",` + s + `}` }
	tests := []struct {
		name       string
		code       int
		header     string // "Name: value" lines
		body       string
		reason     metav1.StatusReason
		retryAfter int32
		message    string // part of it
	}{
		{"HTML", 502, "Content-Type: text/html", "<html>\nbad \"gateway\"", "", 0, `Bad Gateway: not a Status but "text/html": body begins "<html>\nbad \"gateway\""`},
		{"much text is cut", 500, "", strings.Repeat("x", 9999), "InternalError", 0, `body begins "` + strings.Repeat("x", maxHead) + `"`},
		{"binary", 500, "", "\x00\xff", "InternalError", 0, `"\x00\xff"`},
		{"empty", 403, "", "", "Forbidden", 0, "Forbidden: empty body"},
		{"unknown code", 599, "", "", "", 0, "unknown status: empty body"},
		{"not found", 404, "", "", "NotFound", 0, ""},
		{"gone", 410, "", "", "Expired", 0, ""},
		{"too many", 429, "Retry-After: 7", "", "TooManyRequests", 7, ""},
		{"unavailable", 503, "Retry-After: Fri, 20 Nov 2026 11:01:30 GMT", "", "ServiceUnavailable", 90, ""},
		{"JSON that is no Status", 500, "", `{"kind":"Pod"}`, "InternalError", 0, `body begins "{\"kind\":\"Pod\"}"`},
		{"a Status that is a success", 500, "", status(`"status":"Success"`), "InternalError", 0, "not a Status"},
		{"JSON that is cut", 500, "", `{"kind":"Status","code":410`, "InternalError", 0, "not a Status"},
		{"JSON null", 500, "", `null`, "InternalError", 0, "not a Status"},

		{"Status without code", 503, "", status(`"message":"m","reason":"Oops"`), "Oops", 0, "m"},
		{"Status in text/plain", 503, "Content-Type: text/plain", status(`"message":"m"`), "", 0, "m"},
		{"Status with unknown and repeated members", 503, "", status(`"message":"m","new":{},"new":1,"code":503`), "", 0, "m"},
		{"header raises what the Status says", 429, "Retry-After: 9", status(`"reason":"TooManyRequests","details":{"retryAfterSeconds":3}`), "TooManyRequests", 9, ""},
		{"header does not lower it", 429, "Retry-After: 1", status(`"reason":"TooManyRequests","details":{"retryAfterSeconds":3}`), "TooManyRequests", 3, ""},

		{"redirect", 302, "Location: https://user:pass-word@sso.example/login?secret=pass-word#pass-word", "", "", 0, `Found: the server redirects to "https://user:xxxxx@sso.example/login", and redirects are not followed`},
		{"redirect to nowhere", 302, "Location: https://pass-word@[", "", "", 0, `redirects to "another place"`},
		{"redirect without place", 307, "", "", "", 0, "Temporary Redirect: empty body"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := "Date: " + date + "\r\n"
			if tt.header != "" {
				header += tt.header + "\r\n"
			}
			raw := fmt.Sprintf("HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s", tt.code, header, len(tt.body), tt.body)
			_, err := newTestClient(t, answer([]byte(raw))).Watch(t.Context(), Request{Frames: jsonFrames, Path: "/x"})
			checkError(t, err, "watch http://api.example/x: ")
			if tt.message != "" {
				checkError(t, err, tt.message)
			}
			status := statusOf(t, err)
			if status.Code != int32(tt.code) || status.Reason != tt.reason {
				t.Errorf("code %d reason %q, want %d %q", status.Code, status.Reason, tt.code, tt.reason)
			}
			var after int32
			if status.Details != nil {
				after = status.Details.RetryAfterSeconds
			}
			if after != tt.retryAfter {
				t.Errorf("retry after %d s, want %d", after, tt.retryAfter)
			}
			if strings.Contains(err.Error(), "pass-word") {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

// TestReasonsAreThoseOfTheAPI asks apimachinery itself about each status.
func TestReasonsAreThoseOfTheAPI(t *testing.T) {
	for code, is := range map[int]func(error) bool{
		400: apierrors.IsBadRequest, 401: apierrors.IsUnauthorized, 403: apierrors.IsForbidden, 404: apierrors.IsNotFound,
		405: apierrors.IsMethodNotSupported, 406: apierrors.IsNotAcceptable, 409: apierrors.IsConflict, 410: apierrors.IsResourceExpired,
		413: apierrors.IsRequestEntityTooLargeError, 415: apierrors.IsUnsupportedMediaType, 422: apierrors.IsInvalid,
		429: apierrors.IsTooManyRequests, 500: apierrors.IsInternalError, 503: apierrors.IsServiceUnavailable, 504: apierrors.IsTimeout,
	} {
		_, x := new(Client).begin(t.Context(), kind{}, Request{})
		if err := x.refused(new(attempt), &http.Response{StatusCode: code, Body: http.NoBody}); !is(err) {
			t.Errorf("%d: %v", code, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
	tests := []struct {
		value, date string
		want        int32
	}{
		{"", "", 0},
		{"0", "", 0},
		{"1", "", 1},
		{" 30 ", "", 30},
		{"-5", "", 0},
		{"1.5", "", 0},
		{"soon", "", 0},
		{"99999999999", "", 1<<31 - 1},
		{"99999999999999999999", "", 0}, // no number that anyone can mean
		{now.Add(time.Minute).Format(http.TimeFormat), now.Format(http.TimeFormat), 60},
		{now.Add(-time.Minute).Format(http.TimeFormat), now.Format(http.TimeFormat), 0},
		{now.AddDate(900, 0, 0).Format(http.TimeFormat), now.Format(http.TimeFormat), 1<<31 - 1},
		{time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), "no date", 0},
	}
	for _, tt := range tests {
		header := http.Header{}
		header.Set("Retry-After", tt.value)
		header.Set("Date", tt.date)
		if got := retryAfter(header); got != tt.want {
			t.Errorf("Retry-After %q at %q: %d, want %d", tt.value, tt.date, got, tt.want)
		}
	}
}

// TestStatusInAnEncodingOfTheCallers: the caller decodes what it asked for, and JSON is
// read without it. The credential is in no field of either.
func TestStatusInAnEncodingOfTheCallers(t *testing.T) {
	const text = "\x01Status gone: s3cr3t-token"
	decode := func(body []byte) (status metav1.Status, err error) {
		rest, ok := strings.CutPrefix(string(body), "\x01")
		if !ok {
			return status, errors.New("unknown")
		}
		status.Kind, status.Message, _ = strings.Cut(rest, " ")
		status.Reason, status.Code = metav1.StatusReasonExpired, 410
		status.Details = &metav1.StatusDetails{Name: status.Message}
		return status, nil
	}
	for body, want := range map[string]string{
		text: "gone: REDACTED",
		`{"kind":"Status","status":"Failure","message":"gone: s3cr3t-token","reason":"Expired","code":410,"details":{"name":"gone: s3cr3t-token"}}`: "gone: REDACTED",
	} {
		cfg := answer([]byte(fmt.Sprintf("HTTP/1.1 410 Gone\r\nContent-Length: %d\r\n\r\n%s", len(body), body)))
		cfg.BearerToken = "s3cr3t-token"
		_, err := newTestClient(t, cfg).Get(t.Context(), Request{Path: "/x", Accept: "application/x,application/json", Status: decode})
		if status := statusOf(t, err); status.Message != want || !apierrors.IsResourceExpired(err) || status.Details == nil || status.Details.Name != want {
			t.Errorf("%q became %+v", body, status)
		}
	}
}
