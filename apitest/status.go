package apitest

import (
	"errors"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusOf returns the Status that kube-apiserver would send for err. If err is not an APIStatus,
// the answer is a 500 without a reason, even if the client has made the mistake
// (watch-invalid-rv.http).
func statusOf(err error) *metav1.Status {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = statusError(http.StatusInternalServerError, "", err.Error())
	}
	status := known.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	return &status
}

// statusError returns an error for which apimachinery has no function.
func statusError(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func writeError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	setRetryAfter(w, status)
	writeJSON(w, int(status.Code), status)
}

// writeErrorFor sends an error in the encoding that the client has asked for
// (list-rv-too-large-protobuf.bin).
func (s *Server) writeErrorFor(w http.ResponseWriter, req *http.Request, t *table, err error) {
	if all := accepts(req); len(all) == 0 || all[0].media != protobufMediaType || t.res.Custom {
		writeError(w, err)
		return
	}
	status := statusOf(err)
	setRetryAfter(w, status)
	writeBytes(w, int(status.Code), protobufMediaType, protobufStatus(status))
}

func setRetryAfter(w http.ResponseWriter, status *metav1.Status) {
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
}

// writeJSON answers with one small value in JSON.
func writeJSON(w http.ResponseWriter, code int, v any) {
	writeBytes(w, code, "application/json", append(mustJSON(v), '\n'))
}

func writeBytes(w http.ResponseWriter, code int, contentType string, b []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(b) // if it returns an error, the client hung up
}

// methodNotAllowed returns the error for a method that a path does not support. It names the
// resource only if the type is custom.
func methodNotAllowed(res *Resource) error {
	if res.Custom {
		return apierrors.NewMethodNotSupported(res.GroupResource(), "")
	}
	return statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
}

func formatRV(n uint64) string { return strconv.FormatUint(n, 10) }
