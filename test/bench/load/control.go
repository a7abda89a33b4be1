package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// control does what the measured program wants to happen, and then answers.
func (s *Server) control(rw http.ResponseWriter, req *http.Request, action string) {
	form := req.URL.Query()
	w := s.world
	count, err := strconv.Atoi(form.Get("count"))
	rate := 0
	if text := form.Get("rate"); text != "" && err == nil {
		rate, err = strconv.Atoi(text)
	}
	if err != nil || count < 0 {
		http.Error(rw, fmt.Sprintf("no number: %s", req.URL), http.StatusBadRequest)
		return
	}
	var version uint64
	switch {
	case action == "sent":
		version = s.sent.Load()
	case action == "watches":
		version = uint64(s.watches.Load())
	case action == "expire":
		version = w.expire(count)
	case action == "change" && rate > 0:
		version = w.changeAtRate(req.Context(), count, rate)
	case action == "change" && form.Has("index"):
		index, err := strconv.Atoi(form.Get("index"))
		if err != nil || index < 0 {
			http.Error(rw, "index is a number", http.StatusBadRequest)
			return
		}
		version = w.changeOne(index)
	case action == "change":
		version = w.change(count)
	default:
		http.NotFound(rw, req)
		return
	}
	_, _ = fmt.Fprintln(rw, version)
}

func writeStatus(rw http.ResponseWriter, code int32, reason metav1.StatusReason, message string) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(int(code))
	_ = json.NewEncoder(rw).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	})
}
