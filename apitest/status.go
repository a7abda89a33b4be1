package apitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errShuttingDown answers requests that were waiting when the server was closed.
var errShuttingDown = apierrors.NewServiceUnavailable("apiserver is shutting down")

// statusOf turns any error into the Status that kube-apiserver would send for it.
// An error that is no Status is a 500 without a reason, also when the client is to blame (watch-invalid-rv.http).
func statusOf(err error) *metav1.Status {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status := known.Status()
		status.Kind, status.APIVersion = "Status", "v1"
		return &status
	}
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     http.StatusInternalServerError,
		Message:  err.Error(),
	}
}

func writeError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	setRetryAfter(w, status)
	writeJSON(w, int(status.Code), status)
}

// writeErrorFor answers a request that could be understood. A Status comes in the encoding that was asked for
// (list-rv-too-large-protobuf.bin, list-rv-too-large-cbor.bin).
func (s *Server) writeErrorFor(w http.ResponseWriter, req *http.Request, t *table, err error) {
	media := ""
	if all := accepts(req); len(all) > 0 && (all[0].params["as"] == "" || all[0].media != yamlMediaType) {
		media = all[0].media
	}
	status := statusOf(err)
	var b []byte
	switch {
	case media == yamlMediaType:
		setRetryAfter(w, status)
		writeYAML(w, int(status.Code), mustJSON(status))
		return
	case media == protobufMediaType && !t.res.Custom:
		b = protobufStatus(status)
	case media == cborMediaType && s.opts.CBOR:
		b = cborStatus(status)
	default:
		writeError(w, err)
		return
	}
	setRetryAfter(w, status)
	writeBytes(w, int(status.Code), media, b)
}

func setRetryAfter(w http.ResponseWriter, status *metav1.Status) {
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
}

// writeJSON answers with one small value. A client that is gone is not an error of the server's.
func writeJSON(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, fmt.Sprintf("encode the answer: %v", err), http.StatusInternalServerError)
		return
	}
	writeBytes(w, code, "application/json", append(b, '\n'))
}

func writeBytes(w http.ResponseWriter, code int, contentType string, b []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(b) // the client hung up: nobody is left to tell
}

// tooLarge is the answer to a resourceVersion that the replica has not reached (list-rv-too-large.http).
func tooLarge(want, have uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", want, have), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// methodNotAllowed is the answer to a method that a path does not support. It names the resource only for a custom
// type.
func methodNotAllowed(res *Resource) error {
	if res.Custom {
		return apierrors.NewMethodNotSupported(res.GroupResource(), "")
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
		Message: "the server does not allow this method on the requested resource",
	}}
}

// parseRV reads a resourceVersion; "" is 0. Its error has the words of kube-apiserver's versioner.
func parseRV(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion: Invalid value: %q: %w", s, err)
	}
	return n, nil
}

func formatRV(n uint64) string { return strconv.FormatUint(n, 10) }
